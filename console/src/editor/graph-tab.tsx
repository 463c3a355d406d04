/** The stages as a graph, beside the form of the selected one or the settings of the pipeline. */
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { announcement } from '../components/announcement.ts'
import { Button } from '../components/button.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { FlowGraph } from '../components/flow-graph.tsx'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { phoneWidth } from '../components/rem.ts'
import { EmptyState } from '../components/states.tsx'
import { objectsOf, textOf } from '../model/read.ts'
import { openAddStage } from './add-stage-dialog.tsx'
import { descriptionOf } from './descriptions.ts'
import type { Draft, TabProps } from './draft.ts'
import { ProblemCount } from './item-list.tsx'
import { PipelineSettings, type SectionId, sections } from './settings-lists.tsx'
import { removeSelected, StageForm } from './stage-form.tsx'
import { findCircle, inRunOrder, type Position, type StageNode, stageOfKey, titleOfStage, toNodes } from './stages.ts'
import { editorWords } from './words.ts'

/** Above that the list says more than a drawing. */
const maxNodes = 400
/** How long a form has to appear. */
const formMs = 400
const positions: readonly Position[] = ['before', 'parallel', 'after']

export function GraphTab({ draft }: TabProps) {
  const change = useQueryChange()
  const { query } = useLocation()
  const definition = draft.definition.value
  const section = sections.find(({ id }) => id === query['section'])?.id
  const node = section === undefined ? stageOfKey(definition, query['stage']) : undefined
  const isNarrow = matchMedia(phoneWidth).matches
  const select = (key: string | undefined) => {
    draft.endStep()
    change({ stage: key, section: undefined })
  }
  const open = (id: SectionId) => change({ section: id, stage: undefined })
  useEffect(() => {
    draft.selected.value = node?.key
  }, [node?.key])
  useShown(draft, select, open)
  // On a phone a form is a page of its own.
  const isForm = node !== undefined || section !== undefined
  const form =
    node === undefined ? (
      <PipelineSettings key={section} draft={draft} section={section ?? 'general'} />
    ) : (
      <StageForm key={node.key} draft={draft} node={node} onSelect={select} />
    )
  const isEditable = draft.readOnly.value === undefined
  return (
    <div class="editor">
      {!(isNarrow && isForm) && (
        <div class="editor-map panel">
          <Sections
            draft={draft}
            selected={section ?? (node === undefined && !isNarrow ? 'general' : undefined)}
            onSelect={open}
          />
          <Stages draft={draft} selected={node?.key} isList={isNarrow} onSelect={select} />
          {isEditable && <AddTools draft={draft} of={node?.key} onAdded={select} hasKeys={!isNarrow} />}
        </div>
      )}
      {(!isNarrow || isForm) && (
        <fieldset class="editor-form" disabled={!isEditable} aria-label="Form">
          {isNarrow && (
            <button type="button" class="button small back" onClick={() => change({ stage: undefined, section: undefined })}>
              <Icon name="left" /> All stages
            </button>
          )}
          {form}
        </fieldset>
      )}
    </div>
  )
}

interface AddToolsProps {
  readonly draft: Draft
  readonly of: string | undefined
  readonly onAdded: (refId: string) => void
  readonly hasKeys: boolean
}

function AddTools({ draft, of, onAdded, hasKeys }: AddToolsProps) {
  return (
    <div class="editor-tools row">
      <Button small icon="plus" onClick={() => openAddStage({ draft, onAdded, ...(of !== undefined && { of }) })}>
        Add stage
      </Button>
      {hasKeys && <span class="muted">Arrows move, Delete removes, Ctrl Z undoes.</span>}
    </div>
  )
}

/** What is wanted next lies in a stage or a section; its field takes the focus then. */
function useShown(draft: Draft, select: (key: string | undefined) => void, open: (id: SectionId) => void): void {
  const shown = draft.shown.value
  useEffect(() => {
    if (shown === undefined) return
    const [list, index] = shown
    if (list === 'stages') select(toNodes(draft.definition.peek())[Number(index)]?.key)
    else open(sections.find((section) => section.list === list)?.id ?? 'general')
    // What has no field of its own is shown by its form.
    const timer = setTimeout(() => {
      draft.shown.value = undefined
      document.querySelector<HTMLElement>('.editor-form :is(input, textarea, select)')?.focus()
    }, formMs)
    return () => clearTimeout(timer)
  }, [shown])
}

interface SectionsProps {
  readonly draft: Draft
  readonly selected: SectionId | undefined
  readonly onSelect: (id: SectionId) => void
}

function Sections({ draft, selected, onSelect }: SectionsProps) {
  const definition = draft.definition.value
  return (
    <nav class="editor-sections" aria-label="Settings">
      {sections.map(({ id, label, list }) => {
        const count = list === undefined ? 0 : objectsOf(definition[list]).length
        const problems = draft.problems.value.filter(
          ({ path: [first] }) =>
            first !== 'stages' && (sections.find((section) => section.list === first)?.id ?? 'general') === id,
        ).length
        return (
          <button key={id} type="button" class="section-button" aria-pressed={id === selected} onClick={() => onSelect(id)}>
            {label}
            {count > 0 && <span class="count">{count}</span>}
            {problems > 0 && <ProblemCount count={problems} />}
          </button>
        )
      })}
    </nav>
  )
}

interface StagesProps {
  readonly draft: Draft
  readonly selected: string | undefined
  readonly isList: boolean
  readonly onSelect: (key: string | undefined) => void
}

function Stages({ draft, selected, isList, onSelect }: StagesProps) {
  const nodes = inRunOrder(toNodes(draft.definition.value))
  const circle = new Set(findCircle(nodes))
  const remove = (key: string) => {
    const title = titleOfStage(stageOfKey(draft.definition.peek(), key)?.stage ?? {})
    removeSelected(draft, key, onSelect)
    announcement.value = `${title} was removed. Undo brings it back.`
  }
  if (nodes.length === 0) return <EmptyState icon="pipeline" text="This pipeline does nothing yet. Add its first stage." />
  if (isList || nodes.length > maxNodes) {
    return <StageRows draft={draft} nodes={nodes} selected={selected} onSelect={onSelect} />
  }
  return (
    <FlowGraph
      nodes={nodes.map((node) => ({
        id: node.key,
        requires: node.requires,
        class: problemsOf(draft, node).length > 0 ? 'is-warning' : '',
        ...nodeTexts(draft, node),
      }))}
      selected={selected}
      onSelect={onSelect}
      edgeClass={({ from, to }) => (circle.has(from) && circle.has(to) ? 'is-broken' : 'is-passed')}
      onKey={(event, key) => {
        if (event.key !== 'Delete' || draft.readOnly.peek() !== undefined) return
        event.preventDefault()
        remove(key)
      }}
      handles={
        selected !== undefined && draft.readOnly.value === undefined && <Handles draft={draft} of={selected} onAdded={onSelect} />
      }
    />
  )
}

interface StageRowsProps extends Omit<StagesProps, 'isList'> {
  readonly nodes: readonly StageNode[]
}

function StageRows({ draft, nodes, selected, onSelect }: StageRowsProps) {
  return (
    <ol class="rows stage-list">
      {nodes.map((node) => (
        <li key={node.key}>
          <button type="button" class="stage-row" aria-pressed={node.key === selected} onClick={() => onSelect(node.key)}>
            <NodeContent draft={draft} node={node} />
            <Icon name="right" />
          </button>
        </li>
      ))}
    </ol>
  )
}

/** Buttons around the selected stage that add another one. */
function Handles({ draft, of, onAdded }: { draft: Draft; of: string; onAdded: (refId: string) => void }) {
  return (
    <>
      {positions.map((position) => (
        <button
          key={position}
          type="button"
          class={`node-handle is-${position}`}
          tabIndex={-1}
          aria-label={editorWords.addAt[position]}
          title={editorWords.addAt[position]}
          onClick={() => openAddStage({ draft, of, position, onAdded })}
        >
          <Icon name="plus" />
        </button>
      ))}
    </>
  )
}

function problemsOf(draft: Draft, { key }: StageNode) {
  return draft.problems.value.filter(({ stage }) => stage === key)
}

function NodeContent({ draft, node }: { draft: Draft; node: StageNode }) {
  const { name, type, mark } = nodeTexts(draft, node)
  return (
    <>
      <span class="node-text">
        <span class="node-name">
          <Name text={name} max={40} />
        </span>
        <span class="node-type cut">{type}</span>
      </span>
      {mark}
    </>
  )
}

function nodeTexts(draft: Draft, node: StageNode) {
  const { stage } = node
  const problems = problemsOf(draft, node).length
  return {
    name: titleOfStage(stage),
    type: descriptionOf(draft.types.value, stage)?.label ?? textOf(stage['type']) ?? '',
    mark: problems > 0 && <ProblemCount count={problems} />,
  }
}
