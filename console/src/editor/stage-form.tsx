/** The form of one stage: what every stage has, and the fields of its type. */

import { scalarOf } from '@fairlead/base/json/values.ts'
import { Banner } from '../components/button.tsx'
import { Menu, type MenuItem } from '../components/menu.tsx'
import { Panel } from '../components/screen.tsx'
import { Name } from '../components/text.tsx'
import { openAddStage } from './add-stage-dialog.tsx'
import type { Draft } from './draft.ts'
import { FormView, OtherProblems, useNeeded } from './fields.tsx'
import { everyStage } from './forms/every-stage.tsx'
import { field } from './forms/form.tsx'
import { forms } from './forms/forms.tsx'
import {
  copyStage,
  descriptionOf,
  positions,
  removeStage,
  type StageNode,
  titleOfStage,
  toNodes,
} from './stages.ts'

interface StageFormProps {
  readonly draft: Draft
  readonly node: StageNode
  readonly onSelect: (key: string | undefined) => void
}

const nameField = field('name', 'Name')
/** Shown at its head, or set with others. */
const elsewhere = [
  'type',
  'refId',
  'restrictedExecutionWindow',
  'skipWindowText',
  'overrideTimeout',
  'sendNotifications',
]

export function StageForm({ draft, node, onSelect }: StageFormProps) {
  const { stage, index } = node
  const types = draft.types.value
  const description = descriptionOf(types, stage)
  const type = scalarOf(stage['type'])
  const own = description?.fields ?? []
  const common =
    types?.commonFields.filter(({ name }) => own.every((each) => each.name !== name)) ?? []
  const needed = useNeeded(own, stage)
  const byHand = forms[description?.type ?? '']
  return (
    <Panel
      class="editor-panel"
      title={
        <>
          <Name text={titleOfStage(stage)} max={50} />
          <span class="muted regular">{description?.label ?? type}</span>
        </>
      }
      actions={<StageActions draft={draft} node={node} onSelect={onSelect} />}
    >
      <OtherProblems draft={draft} base={['stages', index]} fields={[...own, ...common]} />
      {types !== undefined && description === undefined && (
        <Banner tone="info">
          This instance has no description of the stage type {type}. Its fields are kept as they
          are, and edited as JSON.
        </Banner>
      )}
      {description?.runsHere === false && (
        <Banner tone="warning">
          {description.reason ?? 'This instance cannot run stages of this type.'}
        </Banner>
      )}
      {byHand === undefined && <p class="muted">{description?.description}</p>}
      <FormView
        draft={draft}
        base={['stages', index]}
        fields={[...own, ...common]}
        parts={[nameField, ...(byHand ?? needed), ...everyStage]}
        // Without a description only its JSON is left, and open.
        known={
          description === undefined ? [...elsewhere, ...common.map(({ name }) => name)] : elsewhere
        }
      />
    </Panel>
  )
}

function StageActions({ draft, node: { key, stage }, onSelect }: StageFormProps) {
  const title = titleOfStage(stage)
  const denied = draft.readOnly.value
  const add = (position: keyof typeof positions): MenuItem => ({
    label: positions[position],
    icon: 'plus',
    denied,
    onSelect: () => openAddStage({ draft, of: key, position, onAdded: onSelect }),
  })
  const copy = () => {
    const copied = copyStage(draft.definition.peek(), key, `${title} (copy)`)
    if (copied === undefined) return
    draft.change(`Copy ${title}`, () => copied.definition)
    onSelect(copied.refId)
  }
  const items: readonly MenuItem[] = [
    ...(['after', 'before', 'parallel'] as const).map(add),
    { label: 'Copy', icon: 'copy', denied, onSelect: copy },
    {
      label: 'Remove',
      icon: 'trash',
      destructive: true,
      denied,
      onSelect: () => removeSelected(draft, key, onSelect),
    },
  ]
  return <Menu label={`Actions of ${title}`} items={items} />
}

/** The next selection is the stage that stands in its place. */
export function removeSelected(
  draft: Draft,
  key: string,
  onSelect: (key: string | undefined) => void,
): void {
  const nodes = toNodes(draft.definition.peek())
  const at = nodes.findIndex((node) => node.key === key)
  const node = nodes[at]
  if (node === undefined || draft.readOnly.peek() !== undefined) return
  draft.change(`Remove ${titleOfStage(node.stage)}`, (definition) => removeStage(definition, key))
  const left = toNodes(draft.definition.peek())
  onSelect((left[at] ?? left.at(-1))?.key)
}
