/** The stages as a graph, beside the form of the selected one or the settings of the pipeline. */

import { objectsOf, scalarOf } from '@fairlead/base/json/values.ts'
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useQueryChange } from '../address.ts'
import { Button } from '../components/button.tsx'
import { Graph, type GraphItem } from '../components/graph.tsx'
import { announcement } from '../components/notices.tsx'
import { EmptyState } from '../components/screen.tsx'
import { Icon, Name, phoneWidth } from '../components/text.tsx'
import { nodeHeight } from '../model/graph-layout.ts'
import { openAddStage } from './add-stage-dialog.tsx'
import type { Draft, TabProps } from './draft.ts'
import { ProblemCount } from './item-list.tsx'
import type { Path } from './json-path.ts'
import { PipelineSettings, type SectionId, sections } from './settings-lists.tsx'
import { removeSelected, StageForm } from './stage-form.tsx'
import {
  descriptionOf,
  findCircle,
  inRunOrder,
  type StageNode,
  stageOfKey,
  titleOfStage,
  toNodes,
} from './stages.ts'

/** Above that the list says more than a drawing. */
const maxDrawn = 400
/** How long a form has to appear. */
const formMs = 400

export function GraphTab({ draft }: TabProps) {
  const change = useQueryChange()
  const { query } = useLocation()
  const section = sections.find(({ id }) => id === query['section'])?.id
  const node =
    section === undefined ? stageOfKey(draft.definition.value, query['stage']) : undefined
  const isNarrow = matchMedia(phoneWidth).matches
  const select = (key: string | undefined) => {
    draft.endStep()
    change({ stage: key, section: undefined })
  }
  const open = (id: SectionId) => change({ section: id, stage: undefined })
  useShown(draft, select, open)
  // On a phone a form is a page of its own.
  const isForm = node !== undefined || section !== undefined
  const isEditable = draft.readOnly.value === undefined
  const addStage = () => openAddStage({ draft, onAdded: select, ...(node && { of: node.key }) })
  return (
    <div class="editor">
      {!(isNarrow && isForm) && (
        <div class="editor-map panel">
          <Sections
            draft={draft}
            selected={section ?? (isForm || isNarrow ? undefined : 'general')}
            onSelect={open}
          />
          <Stages draft={draft} selected={node?.key} isList={isNarrow} onSelect={select} />
          {isEditable && (
            <div class="editor-tools row">
              <Button small icon="plus" onClick={addStage}>
                Add stage
              </Button>
              {!isNarrow && <span class="muted">Arrows move, Delete removes, Ctrl Z undoes.</span>}
            </div>
          )}
        </div>
      )}
      {(!isNarrow || isForm) && (
        <fieldset class="editor-form" disabled={!isEditable} aria-label="Form">
          {isNarrow && (
            <button type="button" class="button small back" onClick={() => select(undefined)}>
              <Icon name="left" /> All stages
            </button>
          )}
          {node === undefined ? (
            <PipelineSettings key={section} draft={draft} section={section ?? 'general'} />
          ) : (
            <StageForm
              key={`${node.key} ${draft.types.value !== undefined}`}
              draft={draft}
              node={node}
              onSelect={select}
            />
          )}
        </fieldset>
      )}
    </div>
  )
}

/** What is wanted next lies in a stage or a section; its field takes the focus then. */
function useShown(
  draft: Draft,
  select: (key: string | undefined) => void,
  open: (id: SectionId) => void,
) {
  const shown = draft.shown.value
  useEffect(() => {
    if (shown === undefined) return
    if (shown[0] === 'stages') select(toNodes(draft.definition.peek())[Number(shown[1])]?.key)
    else open(sectionOf(shown))
    // What has no field of its own is shown by its form.
    const timer = setTimeout(() => {
      draft.shown.value = undefined
      document.querySelector<HTMLElement>('.editor-form :is(input, textarea, select)')?.focus()
    }, formMs)
    return () => clearTimeout(timer)
  }, [shown])
}

function sectionOf([list]: Path): SectionId {
  return sections.find((section) => section.list === list)?.id ?? 'general'
}

function Sections({
  draft,
  selected,
  onSelect,
}: TabProps & { selected: string | undefined; onSelect: (id: SectionId) => void }) {
  const problems = draft.problems.value.filter(({ path }) => path[0] !== 'stages')
  return (
    <nav class="editor-sections" aria-label="Settings">
      {sections.map(({ id, label, list }) => {
        const count = objectsOf(draft.definition.value[list ?? '']).length
        return (
          <button
            key={id}
            type="button"
            class="section-button"
            aria-pressed={id === selected}
            onClick={() => onSelect(id)}
          >
            {label}
            {count > 0 && <span class="count">{count}</span>}
            <ProblemCount count={problems.filter(({ path }) => sectionOf(path) === id).length} />
          </button>
        )
      })}
    </nav>
  )
}

interface StagesProps extends TabProps {
  readonly selected: string | undefined
  readonly isList: boolean
  readonly onSelect: (key: string | undefined) => void
}

function Stages({ draft, selected, isList, onSelect }: StagesProps) {
  const nodes = inRunOrder(toNodes(draft.definition.value))
  if (nodes.length === 0)
    return (
      <EmptyState icon="pipeline" text="This pipeline does nothing yet. Add its first stage." />
    )
  const items = nodes.map((node) => toItem(draft, node, node.key === selected, onSelect))
  if (isList || nodes.length > maxDrawn) return <ol class="rows stage-list">{items.map(toRow)}</ol>
  const circle = findCircle(nodes)
  const onKey = (event: KeyboardEvent, key: string) => {
    if (event.key !== 'Delete' || draft.readOnly.value !== undefined) return
    event.preventDefault()
    announcement.value = `${titleOfStage(stageOfKey(draft.definition.peek(), key)?.stage ?? {})} was removed. Undo brings it back.`
    removeSelected(draft, key, onSelect)
  }
  const edges = nodes.flatMap(({ key, requires }) =>
    requires.filter((from) => from !== key).map((from) => ({ from, to: key })),
  )
  return (
    <Graph
      items={items}
      edges={edges}
      home={selected}
      edgeClass={({ from, to }) =>
        circle.includes(from) && circle.includes(to) ? 'is-broken' : 'is-passed'
      }
      onKey={onKey}
    />
  )
}

function toItem(
  draft: Draft,
  { key, stage }: StageNode,
  isSelected: boolean,
  onSelect: StagesProps['onSelect'],
): GraphItem {
  const problems = draft.problems.value.filter((problem) => problem.stage === key).length
  const type = descriptionOf(draft.types.value, stage)?.label ?? scalarOf(stage['type']) ?? ''
  return {
    id: key,
    name: titleOfStage(stage),
    facts: [type],
    spoken: [type],
    height: nodeHeight,
    class: problems > 0 ? 'is-warning' : '',
    button: { 'aria-pressed': isSelected, onClick: () => onSelect(key) },
    under: <span class="node-type cut">{type}</span>,
    after: <ProblemCount count={problems} />,
  }
}

function toRow({ id, name, under, after, button }: GraphItem) {
  return (
    <li key={id}>
      <button type="button" class="stage-row" {...button}>
        <span class="node-text">
          <Name class="node-name" text={name} max={40} />
          {under}
        </span>
        {after}
        <Icon name="right" />
      </button>
    </li>
  )
}
