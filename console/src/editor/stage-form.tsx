/** The form of one stage: what every stage has, and the fields of its type. */
import type { ComponentChildren } from 'preact'
import { Banner } from '../components/banner.tsx'
import { Menu, type MenuItem } from '../components/menu.tsx'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { objectOf, objectsOf, textOf } from '../model/read.ts'
import { openAddStage } from './add-stage-dialog.tsx'
import { describeText, descriptionOf, type FieldDescription } from './descriptions.ts'
import type { Draft } from './draft.ts'
import { FieldList, FieldView } from './fields.tsx'
import { failureLabelOf, failureParts, timeParts } from './forms/every-stage.tsx'
import { FormView } from './forms/form.tsx'
import { forms } from './forms/forms.ts'
import { ItemList } from './item-list.tsx'
import type { Path } from './json-path.ts'
import { doesNotRun } from './problems.ts'
import { artifacts, notifications } from './settings-lists.tsx'
import {
  copyStage,
  type Position,
  positions,
  removeStage,
  requisitesOf,
  type StageNode,
  titleOfStage,
  toNodes,
} from './stages.ts'

/** Fields of every stage that the sections show, each at its place. */
const ownFields = [
  ...['type', 'name', 'refId', 'requisiteStageRefIds', 'stageEnabled', 'restrictExecutionDuringTimeWindow'],
  ...['restrictedExecutionWindow', 'skipWindowText', 'failPipeline', 'continuePipeline', 'completeOtherBranchesThenFail'],
  ...['stageTimeoutMs', 'overrideTimeout', 'notifications', 'sendNotifications', 'expectedArtifacts'],
]

interface StageFormProps {
  readonly draft: Draft
  readonly node: StageNode
  readonly onSelect: (key: string | undefined) => void
}

export function StageForm({ draft, node, onSelect }: StageFormProps) {
  const { stage, key, index } = node
  const types = draft.types.value
  const description = descriptionOf(types, stage)
  const type = textOf(stage['type'])
  const parts = forms[description?.type ?? '']
  const common = types?.commonFields ?? []
  const base: Path = ['stages', index]
  const form = { draft, base, fields: description?.fields ?? [], known: [...ownFields, ...common.map(({ name }) => name)] }
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
      {parts === undefined && <p class="muted">{description?.description}</p>}
      <FieldView draft={draft} base={base} field={describeText('name')} />
      {/* Without a description every field of the stage is one that it does not know. */}
      {parts === undefined ? (
        <FieldList key={`${key} ${description?.type}`} {...form} />
      ) : (
        <FormView key={key} {...form} parts={parts} />
      )}
      <Sections draft={draft} node={node} fields={form.fields} common={common} />
    </Panel>
  )
}

interface SectionsProps {
  readonly draft: Draft
  readonly node: StageNode
  /** Those of its type. */
  readonly fields: readonly FieldDescription[]
  /** Those of every stage. */
  readonly common: readonly FieldDescription[]
}

/** What every stage has besides its name. */
function Sections({ draft, node: { stage, index }, fields, common }: SectionsProps) {
  const base: Path = ['stages', index]
  const requisites = draft.problems.value.some(({ path }) => path[1] === index && path[2] === 'requisiteStageRefIds')
  const sent = objectsOf(stage['notifications']).length
  return (
    <>
      <Section title="When it runs" summary={summaryOfTime(draft, stage)} isOpen={requisites}>
        <FormView draft={draft} base={base} fields={common} parts={timeParts} />
      </Section>
      <Section title="If it fails" summary={failureLabelOf(stage)}>
        <FormView draft={draft} base={base} fields={common} parts={failureParts} />
      </Section>
      <Section title="Notifications" summary={sent > 0 ? String(sent) : undefined}>
        <ItemList draft={draft} path={[...base, 'notifications']} kind={notifications(draft, 'stage')} />
      </Section>
      <Section title="Comments, artifacts, and more" summary={textOf(stage['comments'])?.slice(0, 60)}>
        {fields.every(({ name }) => name !== 'expectedArtifacts') && (
          <fieldset class="form-group">
            <legend>Artifacts that it produces</legend>
            <ItemList draft={draft} path={[...base, 'expectedArtifacts']} kind={artifacts(draft)} />
          </fieldset>
        )}
        {common
          .filter(({ name }) => !ownFields.includes(name))
          .map((field) => (
            <FieldView key={field.name} draft={draft} base={base} field={field} />
          ))}
        <p class="muted">
          Reference <code>{textOf(stage['refId']) ?? '-'}</code>, type <code>{textOf(stage['type']) ?? '-'}</code>
        </p>
      </Section>
    </>
  )
}

function summaryOfTime(draft: Draft, stage: StageNode['stage']): string {
  const before = toNodes(draft.definition.value).filter(({ key }) => requisitesOf(stage).includes(key))
  const condition = textOf(objectOf(stage['stageEnabled'])['expression'])
  const parts = [
    before.length === 0 ? 'at once' : `after ${before.map((node) => titleOfStage(node.stage)).join(', ')}`,
    condition === undefined ? undefined : `if ${condition}`,
    stage['restrictExecutionDuringTimeWindow'] === true ? 'in the execution window' : undefined,
  ]
  return parts.filter((part) => part !== undefined).join(', ')
}

interface SectionProps {
  readonly title: string
  /** What is set in it. */
  readonly summary: string | undefined
  readonly isOpen?: boolean
  readonly children: ComponentChildren
}

function Section({ title, summary, isOpen, children }: SectionProps) {
  return (
    <details class="form-section" open={isOpen || undefined}>
      <summary>
        <h3>{title}</h3>
        {summary !== undefined && (
          <span class="muted cut">
            <Name text={summary} max={60} />
          </span>
        )}
      </summary>
      {children}
    </details>
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
