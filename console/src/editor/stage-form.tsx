/** The form of one stage: what every stage has, and the fields of its type. */
import { Banner } from '../components/banner.tsx'
import { Menu, type MenuItem } from '../components/menu.tsx'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { textOf } from '../model/read.ts'
import { openAddStage } from './add-stage-dialog.tsx'
import { descriptionOf, type StageType } from './descriptions.ts'
import type { Draft } from './draft.ts'
import { FormView, useNeeded } from './fields.tsx'
import { everyStage } from './forms/every-stage.tsx'
import { field } from './forms/form.tsx'
import { forms } from './forms/forms.tsx'
import { doesNotRun } from './problems.ts'
import { copyStage, type Position, positions, removeStage, type StageNode, titleOfStage, toNodes } from './stages.ts'

interface StageFormProps {
  readonly draft: Draft
  readonly node: StageNode
  readonly onSelect: (key: string | undefined) => void
}

export function StageForm({ draft, node, onSelect }: StageFormProps) {
  const { stage } = node
  const types = draft.types.value
  const description = descriptionOf(types, stage)
  const type = textOf(stage['type'])
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
      {types !== undefined && description === undefined && (
        <Banner tone="info">
          This instance has no description of the stage type {type}. Its fields are kept as they are, and edited as JSON.
        </Banner>
      )}
      {description?.runsHere === false && <Banner tone="warning">{description.reason ?? doesNotRun}</Banner>}
      <StageFields key={description?.type} draft={draft} node={node} own={description} common={types?.commonFields ?? []} />
    </Panel>
  )
}

const nameField = field('name', 'Name')
/** Shown at its head, or set with others. */
const elsewhere = ['type', 'refId', 'restrictedExecutionWindow', 'skipWindowText', 'overrideTimeout', 'sendNotifications']

interface StageFieldsProps extends Omit<StageFormProps, 'onSelect'> {
  readonly own: StageType | undefined
  readonly common: StageType['fields']
}

function StageFields({ draft, node: { stage, index }, own, common }: StageFieldsProps) {
  const fields = own?.fields ?? []
  const needed = useNeeded(fields, stage)
  const byHand = forms[own?.type ?? '']
  const others = common.filter(({ name }) => fields.every((each) => each.name !== name))
  // Without a description only its JSON is left, and open.
  const known = own === undefined ? [...elsewhere, ...others.map(({ name }) => name)] : elsewhere
  return (
    <>
      {byHand === undefined && <p class="muted">{own?.description}</p>}
      <FormView
        draft={draft}
        base={['stages', index]}
        fields={[...fields, ...others]}
        parts={[nameField, ...(byHand ?? needed), ...everyStage]}
        known={known}
      />
    </>
  )
}

function StageActions({ draft, node: { key, stage }, onSelect }: StageFormProps) {
  const title = titleOfStage(stage)
  const denied = draft.readOnly.value
  const add = (position: Position): MenuItem => ({
    label: positions[position],
    icon: 'plus',
    denied,
    onSelect: () => openAddStage({ draft, of: key, position, onAdded: onSelect }),
  })
  const copy = () => {
    const copied = copyStage(draft.definition.peek(), key, `${title} (copy)`)
    if (copied === undefined) return
    draft.replace(copied.definition, `Copy ${title}`)
    onSelect(copied.refId)
  }
  return (
    <Menu
      label={`Actions of ${title}`}
      items={[
        ...(['after', 'before', 'parallel'] as const).map(add),
        { label: 'Copy', icon: 'copy', denied, onSelect: copy },
        { label: 'Remove', icon: 'trash', destructive: true, denied, onSelect: () => removeSelected(draft, key, onSelect) },
      ]}
    />
  )
}

/** The next selection is the stage that stands in its place. */
export function removeSelected(draft: Draft, key: string, onSelect: (key: string | undefined) => void): void {
  const nodes = toNodes(draft.definition.peek())
  const at = nodes.findIndex((node) => node.key === key)
  const node = nodes[at]
  if (node === undefined || draft.readOnly.peek() !== undefined) return
  draft.change(`Remove ${titleOfStage(node.stage)}`, (definition) => removeStage(definition, key))
  const left = toNodes(draft.definition.peek())
  onSelect((left[at] ?? left.at(-1))?.key)
}
