/** Chooses the type of a new stage: a search field above the types that exist here. */
import { useEffect, useState } from 'preact/hooks'
import { closeDialog, openDialog } from '../components/dialog.tsx'
import { Picker } from '../components/picker.tsx'
import { freeName } from '../model/names.ts'
import { plural } from '../words.ts'
import type { Draft } from './draft.ts'
import { freshStages, usePlace } from './forms/fresh.ts'
import {
  addStage,
  type Position,
  type StageType,
  stageOfKey,
  stagesOf,
  titleOfStage,
  toNodes,
} from './stages.ts'

interface AddStageProps {
  readonly draft: Draft
  /** Key of a stage beside which the new one goes; at the end unless given. */
  readonly of?: string
  readonly position?: Position
  readonly onAdded: (refId: string) => void
}

export function openAddStage(props: AddStageProps): void {
  openDialog(<AddStageDialog {...props} />)
}

const addedAt: Readonly<Record<Position, (name: string) => string>> = {
  after: (name) => `It runs after ${name}, before what follows.`,
  before: (name) => `It runs before ${name}, after what that waits for.`,
  parallel: (name) => `It runs beside ${name}, after the same stages.`,
}

function AddStageDialog({ draft, of, position = 'after', onAdded }: AddStageProps) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const [isEntered, setEntered] = useState(false)
  const isLoading = draft.types.value === undefined
  const place = usePlace(draft.application)
  const groups = groupsOf(draft.types.value?.stageTypes ?? [], text)
  const found = groups.flatMap(({ items }) => items)
  const chosen = Math.min(at, found.length - 1)
  const anchor = stageOfKey(draft.definition.value, of)
  const where =
    anchor === undefined
      ? 'It runs after all others.'
      : addedAt[position](titleOfStage(anchor.stage))
  const add = ({ type, label }: StageType) => {
    const taken = stagesOf(draft.definition.peek()).map(titleOfStage)
    const stage = {
      type,
      ...freshStages[type]?.(place),
      name: freeName(label, (name) => taken.includes(name)),
    }
    const added = addStage(draft.definition.peek(), stage, anchor && { of: anchor.key, position })
    draft.change(`Add ${label}`, () => added.definition)
    closeDialog()
    onAdded(added.refId)
    const index = toNodes(added.definition).findIndex(({ key }) => key === added.refId)
    // After the dialog has given the focus back.
    setTimeout(() => {
      draft.shown.value = ['stages', index, 'name']
    })
  }
  // Users who know the name need not wait for the types.
  useEffect(() => {
    const type = found[chosen]
    if (isEntered && type !== undefined) add(type)
  }, [isEntered, isLoading])
  const onText = (typed: string) => {
    setText(typed)
    setAt(0)
    setEntered(false)
  }
  return (
    <Picker
      title="Add stage"
      class="palette is-titled"
      note={<p class="palette-note">{where}</p>}
      label="Search stage types"
      placeholder="Search stage types"
      listLabel="Stage types"
      text={text}
      onText={onText}
      groups={groups}
      keyOf={({ type }) => type}
      row={({ type, label, runsHere, reason, description }) => (
        <span class="grow">
          <strong>{label}</strong>
          <span class="type-text muted">
            {runsHere === false ? reason : (wants[type]?.line ?? description)}
          </span>
        </span>
      )}
      rowClass="type-hit"
      chosen={chosen}
      onChoose={setAt}
      onTake={(type) => (type === undefined ? setEntered(isLoading) : add(type))}
      status={text === '' || isLoading ? '' : plural(found.length, 'stage type')}
    >
      {isLoading && <p class="palette-note">Loading</p>}
      {found.length === 0 && !isLoading && (
        <p class="palette-note">No stage type matches “{text}”.</p>
      )}
    </Picker>
  )
}

const want = (group: string, line: string) => ({ group, line })

/** What people come for, with a line about when; other types stand below in the groups of the API. */
const wants: Readonly<Record<string, ReturnType<typeof want>>> = {
  deploy: want('Deploy', 'Create server groups of an image, and move the traffic to them.'),
  deployManifest: want(
    'Deploy',
    'Apply objects to a Kubernetes cluster, and wait until they are stable.',
  ),
  rollbackCluster: want('Deploy', 'Bring back what ran before.'),
  bake: want('Build', 'Make an image of a repository, a folder or a package.'),
  jenkins: want('Build', 'Run a job of a build server, and take its results.'),
  findImageFromCluster: want(
    'Build',
    'Take the image that runs elsewhere, such as in the test environment.',
  ),
  manualJudgment: want('Wait for a person', 'Ask whether to go on, before production for example.'),
  wait: want('Wait or check', 'Let some time pass.'),
  checkPreconditions: want(
    'Wait or check',
    'Go on only if an expression, a stage or a cluster is as it should be.',
  ),
  runCommand: want('Run', 'Run a command on this machine, such as a test.'),
  runJob: want('Run', 'Run a program to its end.'),
  webhook: want('Run', 'Call an address, and wait for the work behind it.'),
  pipeline: want('Run', 'Run another pipeline.'),
}
const order = Object.keys(wants)

/** Types for pipelines in which every word occurs: the nearest names first, then what people come for. */
function groupsOf(all: readonly StageType[], text: string) {
  const wanted = text.toLowerCase()
  const farness = ({ type, label, runsHere }: StageType) => {
    const isNear = [label, type].some((name) => name.toLowerCase().startsWith(wanted))
    return [runsHere === false, !isNear, wants[type] === undefined].map(Number).join('')
  }
  const matching = all.filter(({ type, label, description, use, group }) => {
    const searched = `${type} ${label} ${description} ${group}`.toLowerCase()
    return use !== 'task' && wanted.split(/\s+/).every((part) => searched.includes(part))
  })
  const sorted = matching.toSorted(
    (a, b) => farness(a).localeCompare(farness(b)) || order.indexOf(a.type) - order.indexOf(b.type),
  )
  const byGroup = Map.groupBy(sorted, ({ type, group, runsHere }) =>
    runsHere === false ? 'Not on this instance' : (wants[type]?.group ?? group),
  )
  return [...byGroup].map(([title, items]) => ({
    title,
    items,
    head: (
      <div class="palette-group" aria-hidden="true">
        {title}
      </div>
    ),
  }))
}
