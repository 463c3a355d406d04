/** Chooses the type of a new stage: a search field above the types that exist here. */

import { useEffect, useState } from 'preact/hooks'
import { Button } from '../components/button.tsx'
import { closeDialog, openDialog } from '../components/dialog.tsx'
import { Name } from '../components/name.tsx'
import { Picker } from '../components/picker.tsx'
import { words } from '../words.ts'
import type { StageType } from './descriptions.ts'
import type { Draft } from './draft.ts'
import { addStage, type Position, stageOfKey, titleOfStage, toNodes } from './stages.ts'
import { editorWords } from './words.ts'

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

function AddStageDialog({ draft, of, position = 'after', onAdded }: AddStageProps) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const [isEntered, setEntered] = useState(false)
  const isLoading = draft.types.value === undefined
  const groups = groupsOf(draft.types.value?.stageTypes ?? [], text)
  const found = groups.flatMap(({ types }) => types)
  const chosen = Math.min(at, found.length - 1)
  const anchor = stageOfKey(draft.definition.value, of)
  const add = (type: ChosenType) => addTo(draft, type, anchor && { of: anchor.key, position }, onAdded)
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
      title={editorWords.addStage}
      class="palette is-titled"
      note={
        <p class="palette-note">
          {anchor === undefined ? editorWords.atEnd : editorWords.addedAt[position](titleOfStage(anchor.stage))}
        </p>
      }
      label={editorWords.findType}
      placeholder={editorWords.findType}
      listLabel={editorWords.stageTypes}
      text={text}
      onText={onText}
      groups={groups.map(({ group, types }) => ({ title: group, items: types, head: <GroupHead text={group} /> }))}
      keyOf={({ type }) => type}
      row={(type) => <TypeRow type={type} />}
      rowClass="type-hit"
      chosen={chosen}
      onChoose={setAt}
      onTake={(type) => (type === undefined ? setEntered(isLoading) : add(type))}
      status={text === '' || isLoading ? '' : editorWords.types(found.length)}
    >
      {isLoading && <p class="palette-note">{words.loading}</p>}
      {found.length === 0 && !isLoading && (
        <div class="palette-note">
          <p>{editorWords.noType(text)}</p>
          {/^\S+$/.test(text) && (
            <Button small onClick={() => add({ type: text, label: text })}>
              {editorWords.addUnknown(text)}
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
  return (
    <span class="grow">
      <strong>
        <Name text={label} max={60} />
      </strong>{' '}
      <code class="muted">{type}</code>
      <span class="type-text muted">{runsHere === false ? reason : description}</span>
    </span>
  )
}

type ChosenType = Pick<StageType, 'type' | 'label'>

/** Adds the stage and moves the focus to its name. */
function addTo(
  draft: Draft,
  { type, label }: ChosenType,
  place: { of: string; position: Position } | undefined,
  onAdded: (refId: string) => void,
): void {
  const added = addStage(draft.definition.peek(), { type, name: freeName(draft, label) }, place)
  draft.replace(added.definition, editorWords.addItem(label))
  closeDialog()
  onAdded(added.refId)
  const index = toNodes(added.definition).findIndex(({ key }) => key === added.refId)
  // After the dialog has given the focus back.
  setTimeout(() => {
    draft.shown.value = ['stages', index, 'name']
  })
}

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
  const byGroup = Map.groupBy(matching, ({ group }) => group)
  const groups = [...byGroup].map(([group, types]) => ({ group, types: types.toSorted((a, b) => rank(a) - rank(b)) }))
  const best = ({ types }: TypeGroup) => Math.min(...types.map(rank))
  return groups.toSorted((a, b) => best(a) - best(b))
}

/** Stages are told apart by their names. */
function freeName(draft: Draft, label: string): string {
  const stages = draft.definition.peek()['stages']
  const taken = new Set(Array.isArray(stages) ? stages.map((stage) => titleOfStage(stage ?? {})) : [])
  if (!taken.has(label)) return label
  for (let number = 2; ; number++) if (!taken.has(`${label} ${number}`)) return `${label} ${number}`
}
