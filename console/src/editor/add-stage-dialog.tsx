/** Chooses the type of a new stage: a search field above the types that exist here. */
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { closeDialog, Dialog, openDialog } from '../components/dialog.tsx'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { words as common } from '../words.ts'
import type { StageType } from './descriptions.ts'
import type { Draft } from './draft.ts'
import { addStage, type Position, stageOfKey, titleOfStage, toNodes } from './stages.ts'
import { words } from './words.ts'

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
  const list = useRef<HTMLDivElement>(null)
  const id = useId()
  const isLoading = draft.types.value === undefined
  const groups = groupsOf(draft.types.value?.stageTypes ?? [], text)
  const found = groups.flatMap(({ types }) => types)
  const chosen = Math.min(at, found.length - 1)
  const anchor = stageOfKey(draft.definition.value, of)
  const add = ({ type, label }: Pick<StageType, 'type' | 'label'>) => {
    const place = anchor === undefined ? undefined : { of: anchor.key, position }
    const added = addStage(draft.definition.peek(), { type, name: freeName(draft, label) }, place)
    draft.replace(added.definition, words.addItem(label))
    closeDialog()
    onAdded(added.refId)
    const index = toNodes(added.definition).findIndex(({ key }) => key === added.refId)
    // After the dialog has given the focus back.
    setTimeout(() => {
      draft.shown.value = ['stages', index, 'name']
    })
  }
  const onKey = (event: KeyboardEvent) => {
    const next = { ArrowDown: chosen + 1, ArrowUp: chosen - 1 }[event.key]
    const type = found[chosen]
    if (next !== undefined && found.length > 0) {
      event.preventDefault()
      const index = (next + found.length) % found.length
      setAt(index)
      list.current?.querySelector(`[data-index="${index}"]`)?.scrollIntoView({ block: 'nearest' })
    } else if (event.key === 'Enter') {
      event.preventDefault()
      if (type !== undefined) add(type)
      else setEntered(isLoading)
    }
  }
  // Users who know the name need not wait for the types.
  useEffect(() => {
    const type = found[chosen]
    if (isEntered && type !== undefined) add(type)
  }, [isEntered, isLoading])
  const where = anchor === undefined ? words.atEnd : words.addedAt[position](titleOfStage(anchor.stage))
  let index = 0
  return (
    <Dialog title={words.addStage} class="palette is-titled">
      <p class="palette-note">{where}</p>
      <div class="palette-field">
        <Icon name="search" />
        <input
          role="combobox"
          aria-label={words.findType}
          aria-controls={id}
          aria-expanded
          aria-activedescendant={found.length === 0 ? undefined : `${id}-${chosen}`}
          autoComplete="off"
          spellcheck={false}
          placeholder={words.findType}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value)
            setAt(0)
            setEntered(false)
          }}
          onKeyDown={onKey}
        />
      </div>
      <div class="palette-list" id={id} role="listbox" aria-label={words.stageTypes} ref={list}>
        {groups.map(({ group, types }) => (
          <div key={group} role="group" aria-label={group}>
            <div class="palette-group" aria-hidden="true">
              {group}
            </div>
            {types.map((type) => {
              const mine = index++
              return (
                <div
                  key={type.type}
                  id={`${id}-${mine}`}
                  data-index={mine}
                  role="option"
                  tabIndex={-1}
                  aria-selected={mine === chosen}
                  class="palette-hit type-hit"
                  onClick={() => add(type)}
                  onPointerMove={() => setAt(mine)}
                >
                  <span class="grow">
                    <strong>
                      <Name text={type.label} max={60} />
                    </strong>{' '}
                    <code class="muted">{type.type}</code>
                    <span class="type-text muted">{type.runsHere === false ? type.reason : type.description}</span>
                  </span>
                </div>
              )
            })}
          </div>
        ))}
      </div>
      {isLoading && <p class="palette-note">{common.loading}</p>}
      {found.length === 0 && !isLoading && (
        <div class="palette-note">
          <p>{words.noType(text)}</p>
          {/^\S+$/.test(text) && (
            <button type="button" class="button small" onClick={() => add({ type: text, label: text })}>
              {words.addUnknown(text)}
            </button>
          )}
        </div>
      )}
      <div class="visually-hidden" role="status">
        {text === '' || isLoading ? '' : words.types(found.length)}
      </div>
    </Dialog>
  )
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
