/** Chooses the type of a new stage: a search field above the types that exist here. */

import { useEffect, useState } from 'preact/hooks'
import { useCloudProviders } from '../api/cloud-providers.ts'
import { Button } from '../components/button.tsx'
import { closeDialog, openDialog } from '../components/dialog.tsx'
import { Name } from '../components/name.tsx'
import { Picker } from '../components/picker.tsx'
import type { Json } from '../model/read.ts'
import { plural } from '../words.ts'
import { useAccounts } from './choices.ts'
import type { StageType } from './descriptions.ts'
import type { Draft } from './draft.ts'
import { freshStage, placeIn } from './forms/fresh.ts'
import { addStage, type Position, stageOfKey, titleOfStage, toNodes } from './stages.ts'

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
  const place = placeIn(draft.application, useAccounts(), useCloudProviders())
  const groups = groupsOf(draft.types.value?.stageTypes ?? [], text)
  const found = groups.flatMap(({ types }) => types)
  const chosen = Math.min(at, found.length - 1)
  const anchor = stageOfKey(draft.definition.value, of)
  const add = ({ type, label }: ChosenType) =>
    addTo(draft, { type, ...freshStage(type, place), label }, anchor && { of: anchor.key, position }, onAdded)
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
      note={
        <p class="palette-note">
          {anchor === undefined ? 'It runs after all others.' : addedAt[position](titleOfStage(anchor.stage))}
        </p>
      }
      label="Search stage types"
      placeholder="Search stage types"
      listLabel="Stage types"
      text={text}
      onText={onText}
      groups={groups.map(({ group, types }) => ({ title: group, items: types, head: <GroupHead text={group} /> }))}
      keyOf={({ type }) => type}
      row={(type) => <TypeRow type={type} />}
      rowClass="type-hit"
      chosen={chosen}
      onChoose={setAt}
      onTake={(type) => (type === undefined ? setEntered(isLoading) : add(type))}
      status={text === '' || isLoading ? '' : plural(found.length, 'stage type')}
    >
      {isLoading && <p class="palette-note">Loading</p>}
      {found.length === 0 && !isLoading && (
        <div class="palette-note">
          <p>No stage type matches “{text}”.</p>
          {/^\S+$/.test(text) && (
            <Button small onClick={() => add({ type: text, label: text })}>
              Add a stage of type {text}
            </Button>
          )}
        </div>
      )}
    </Picker>
  )
}

function GroupHead({ text }: { text: string }) {
  return (
    <div class="palette-group" aria-hidden="true">
      {text}
    </div>
  )
}

function TypeRow({ type: { type, label, runsHere, reason, description } }: { type: StageType }) {
  const wanted = wants.find(({ lines }) => lines[type] !== undefined)?.lines[type]
  return (
    <span class="grow">
      <strong>
        <Name text={label} max={60} />
      </strong>
      <span class="type-text muted">{runsHere === false ? reason : (wanted ?? description)}</span>
    </span>
  )
}

type ChosenType = Pick<StageType, 'type' | 'label'>

/** Adds the stage and moves the focus to its name. */
function addTo(
  draft: Draft,
  { label, ...stage }: ChosenType & Json,
  place: { of: string; position: Position } | undefined,
  onAdded: (refId: string) => void,
): void {
  const added = addStage(draft.definition.peek(), { ...stage, name: freeName(draft, label) }, place)
  draft.replace(added.definition, `Add ${label}`)
  closeDialog()
  onAdded(added.refId)
  const index = toNodes(added.definition).findIndex(({ key }) => key === added.refId)
  // After the dialog has given the focus back.
  setTimeout(() => {
    draft.shown.value = ['stages', index, 'name']
  })
}

/** What people come for, with a line about when; other types stand below in the groups of the API. */
const wants: readonly { readonly title: string; readonly lines: Readonly<Record<string, string>> }[] = [
  {
    title: 'Deploy',
    lines: {
      deploy: 'Create server groups of an image, and move the traffic to them.',
      deployManifest: 'Apply objects to a Kubernetes cluster, and wait until they are stable.',
      rollbackCluster: 'Bring back what ran before.',
    },
  },
  {
    title: 'Build',
    lines: {
      bake: 'Make an image of a repository, a folder or a package.',
      jenkins: 'Run a job of a build server, and take its results.',
      findImageFromCluster: 'Take the image that runs elsewhere, such as in the test environment.',
    },
  },
  { title: 'Wait for a person', lines: { manualJudgment: 'Ask whether to go on, before production for example.' } },
  {
    title: 'Wait or check',
    lines: {
      wait: 'Let some time pass.',
      checkPreconditions: 'Go on only if an expression, a stage or a cluster is as it should be.',
    },
  },
  {
    title: 'Run',
    lines: {
      runCommand: 'Run a command on this machine, such as a test.',
      runJob: 'Run a program to its end.',
      webhook: 'Call an address, and wait for the work behind it.',
      pipeline: 'Run another pipeline.',
    },
  },
]

interface TypeGroup {
  readonly group: string
  readonly types: readonly StageType[]
}

/** Types for pipelines in which every word occurs; those that do not run here come last in their group. */
function groupsOf(all: readonly StageType[], text: string): readonly TypeGroup[] {
  const parts = text.toLowerCase().split(/\s+/)
  const matching = all.filter(({ type, label, description, use, group }) => {
    const searched = `${type} ${label} ${description} ${group}`.toLowerCase()
    return use !== 'task' && parts.every((part) => searched.includes(part))
  })
  const wanted = text.toLowerCase()
  const rank = ({ type, label, runsHere }: StageType) => {
    const names = [label.toLowerCase(), type.toLowerCase()]
    const nearness = names.includes(wanted)
      ? 0
      : names.some((name) => name.startsWith(wanted))
        ? 1
        : names.some((name) => name.includes(wanted))
          ? 2
          : 3
    return nearness + Number(runsHere === false) * 4
  }
  const byGroup = Map.groupBy(matching, ({ type, group, runsHere }) => {
    if (runsHere === false) return 'Not on this instance'
    return wants.find(({ lines }) => lines[type] !== undefined)?.title ?? group
  })
  const groups = [...byGroup].map(([group, types]) => ({ group, types: types.toSorted((a, b) => rank(a) - rank(b)) }))
  const place = (group: string) => (wants.findIndex(({ title }) => title === group) + wants.length + 1) % (wants.length + 1)
  const best = ({ group, types }: TypeGroup) => Math.min(...types.map(rank)) * 100 + place(group)
  return groups.toSorted((a, b) => best(a) - best(b))
}

/** Stages are told apart by their names. */
function freeName(draft: Draft, label: string): string {
  const stages = draft.definition.peek()['stages']
  const taken = new Set(Array.isArray(stages) ? stages.map((stage) => titleOfStage(stage ?? {})) : [])
  if (!taken.has(label)) return label
  for (let number = 2; ; number++) if (!taken.has(`${label} ${number}`)) return `${label} ${number}`
}
