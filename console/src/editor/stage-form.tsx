/** The form of one stage: what every stage has, and the fields of its type. */

import type { ComponentChildren } from 'preact'
import { Banner } from '../components/banner.tsx'
import { Check } from '../components/check.tsx'
import { Field } from '../components/field.tsx'

import { Menu, type MenuItem } from '../components/menu.tsx'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { type Json, numberOf, objectOf, objectsOf, textOf } from '../model/read.ts'
import { openAddStage } from './add-stage-dialog.tsx'
import { describeText, descriptionOf, type FieldDescription } from './descriptions.ts'
import type { Draft } from './draft.ts'
import { ExecutionWindow } from './execution-window.tsx'
import { FieldList, FieldView, ItemList } from './fields.tsx'
import { Ways } from './forms/form.tsx'
import { HandMadeForm, hasForm } from './forms/forms.tsx'
import { NumberInput, TextInput } from './inputs.tsx'
import { isSamePath, type Path } from './json-path.ts'
import { artifacts, notifications } from './settings-lists.tsx'
import {
  copyStage,
  followersOf,
  moveStage,
  type Position,
  removeStage,
  requisitesOf,
  type StageNode,
  setRequisites,
  stagesOf,
  titleOfStage,
  toNodes,
} from './stages.ts'
import { editorWords } from './words.ts'

/** Shown by this form itself, each at its place. */
const ownFields = [
  'type',
  'name',
  'refId',
  'requisiteStageRefIds',
  'comments',
  'stageEnabled',
  'restrictExecutionDuringTimeWindow',
  'restrictedExecutionWindow',
  'skipWindowText',
  'failPipeline',
  'continuePipeline',
  'completeOtherBranchesThenFail',
  'stageTimeoutMs',
  'overrideTimeout',
  'notifications',
  'sendNotifications',
  'expectedArtifacts',
]
const minuteMs = 60_000

interface StageFormProps {
  readonly draft: Draft
  readonly node: StageNode
  readonly onSelect: (key: string | undefined) => void
}

export function StageForm({ draft, node, onSelect }: StageFormProps) {
  const { stage, key, index } = node
  const base: Path = ['stages', index]
  const types = draft.types.value
  const description = descriptionOf(types, stage)
  const type = textOf(stage['type'])
  const isHandMade = description !== undefined && hasForm(description.type)
  const known = [...ownFields, ...(types?.commonFields ?? []).map(({ name }) => name)]
  const props = { draft, base, fields: description?.fields ?? [], known }
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
      {description?.runsHere === false && <Banner tone="warning">{description.reason ?? editorWords.doesNotRun}</Banner>}
      {description !== undefined && !isHandMade && <p class="muted">{description.description}</p>}
      <FieldView draft={draft} base={base} field={describeText('name')} label="Name" />
      {/* Without a description every field of the stage is one that it does not know. */}
      {isHandMade ? (
        <HandMadeForm key={key} type={description.type} {...props} />
      ) : (
        <FieldList key={`${key} ${description?.type}`} {...props} />
      )}
      <Sections draft={draft} node={node} fields={props.fields} />
    </Panel>
  )
}

interface SectionsProps {
  readonly draft: Draft
  readonly node: StageNode
  /** Those of its type. */
  readonly fields: readonly FieldDescription[]
}

/** What every stage has besides its name. */
function Sections({ draft, node, fields }: SectionsProps) {
  const { stage, index } = node
  const base: Path = ['stages', index]
  const set = (name: string, value: unknown, label: string) => draft.set([...base, name], value, label)
  const { expression } = objectOf(stage['stageEnabled'])
  const setCondition = (next: unknown) =>
    set('stageEnabled', next === undefined ? undefined : { type: 'expression', expression: next }, 'Condition')
  const common = (draft.types.value?.commonFields ?? []).filter(({ name }) => !ownFields.includes(name))
  return (
    <>
      <Section title="When it runs" summary={summaryOfTime(draft, stage)} isOpen={requisiteProblem(draft, index) !== undefined}>
        <RunsAfter draft={draft} node={node} />
        <Field label="Condition" help="Runs the stage when this expression is true, and skips it otherwise. ${} may be left out.">
          {(tied) => <TextInput tied={tied} isCode value={expression} onChange={setCondition} />}
        </Field>
        <ExecutionWindow draft={draft} base={base} stage={stage} />
      </Section>
      <Section title="If it fails" summary={onFailure[onFailureOf(stage)]}>
        <OnFailure draft={draft} base={base} stage={stage} />
        <Timeout stage={stage} onChange={(value) => set('stageTimeoutMs', value, 'Timeout')} />
      </Section>
      <Section title="Notifications" summary={countOf(stage['notifications'])}>
        <ItemList draft={draft} path={[...base, 'notifications']} kind={notifications('stage')} />
      </Section>
      <Section title="Comments, artifacts, and more" summary={textOf(stage['comments'])?.slice(0, 60)}>
        <Field label="Comments" help="For readers of the pipeline.">
          {(tied) => (
            <TextInput tied={tied} isLong value={stage['comments']} onChange={(value) => set('comments', value, 'Comments')} />
          )}
        </Field>
        {fields.every(({ name }) => name !== 'expectedArtifacts') && (
          <fieldset class="form-group">
            <legend>Artifacts that it produces</legend>
            <ItemList draft={draft} path={[...base, 'expectedArtifacts']} kind={artifacts} />
          </fieldset>
        )}
        {common.map((field) => (
          <FieldView key={field.name} draft={draft} base={base} field={field} />
        ))}
        <p class="muted">
          Reference <code>{textOf(stage['refId']) ?? '-'}</code>, type <code>{textOf(stage['type']) ?? '-'}</code>
        </p>
      </Section>
    </>
  )
}

function countOf(list: unknown): string | undefined {
  const { length } = objectsOf(list)
  return length === 0 ? undefined : String(length)
}

function summaryOfTime(draft: Draft, stage: Json): string {
  const nodes = toNodes(draft.definition.value)
  const before = nodes.filter(({ key }) => requisitesOf(stage).includes(key)).map((node) => titleOfStage(node.stage))
  const condition = textOf(objectOf(stage['stageEnabled'])['expression'])
  const parts = [
    before.length === 0 ? 'at once' : `after ${before.join(', ')}`,
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
    label: editorWords.addAt[position],
    icon: 'plus',
    denied,
    onSelect: () => openAddStage({ draft, of: key, position, onAdded: onSelect }),
  })
  const move = (label: string, icon: 'up' | 'down', by: -1 | 1): MenuItem => ({
    label,
    icon,
    denied,
    onSelect: () => draft.change(`Move ${title}`, (definition) => moveStage(definition, key, by)),
  })
  const copy = () => {
    const copied = copyStage(draft.definition.peek(), key, `${title} (copy)`)
    if (copied === undefined) return
    draft.replace(copied.definition, `Copy ${title}`)
    onSelect(copied.refId)
  }
  const remove = () => removeSelected(draft, key, onSelect)
  return (
    <Menu
      label={`Actions of ${title}`}
      items={[
        add('after'),
        add('before'),
        add('parallel'),
        { label: 'Copy', icon: 'copy', denied, onSelect: copy },
        move('Earlier in the list', 'up', -1),
        move('Later in the list', 'down', 1),
        { label: 'Remove', icon: 'trash', destructive: true, denied, onSelect: remove },
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

function requisiteProblem(draft: Draft, index: number): string | undefined {
  return draft.problems.value.find(({ path }) => isSamePath(path, ['stages', index, 'requisiteStageRefIds']))?.message
}

function RunsAfter({ draft, node }: { draft: Draft; node: StageNode }) {
  const { key, index, stage } = node
  const definition = draft.definition.value
  const nodes = toNodes(definition)
  const followers = followersOf(nodes, key)
  const required = requisitesOf(stage)
  const missing = required.filter((id) => !nodes.some((other) => other.key === id))
  const error = requisiteProblem(draft, index)
  const toggle = (id: string, on: boolean) =>
    draft.change('Runs after', (whole) =>
      setRequisites(whole, key, on ? [...required, id] : required.filter((other) => other !== id)),
    )
  if (stagesOf(definition).length < 2 && missing.length === 0) return null
  return (
    <fieldset class="field runs-after">
      <legend>Runs after</legend>
      <div class="checks-list">
        {nodes
          .filter((other) => required.includes(other.key) || (other.key !== key && !followers.has(other.key)))
          .map((other) => (
            <Check key={other.key} checked={required.includes(other.key)} onChange={(on) => toggle(other.key, on)}>
              <Name text={titleOfStage(other.stage)} max={50} />
              <span class="muted">{other.key}</span>
            </Check>
          ))}
        {missing.map((id) => (
          <Check key={id} checked onChange={() => toggle(id, false)}>
            <s>{id}</s>
          </Check>
        ))}
      </div>
      {required.length === 0 && <p class="help">Nothing: it starts at once.</p>}
      {error !== undefined && <p class="error">{error}</p>}
    </fieldset>
  )
}

const onFailure = {
  stop: 'Stop the pipeline',
  stopBranch: 'Stop this branch only',
  stopAfterOthers: 'Stop this branch, and fail when the others have ended',
  goOn: 'Go on',
} as const
type OnFailureChoice = keyof typeof onFailure

const failureFlags: Readonly<Record<OnFailureChoice, readonly [fail: boolean, goOn: boolean, others: boolean]>> = {
  stop: [true, false, false],
  stopBranch: [false, false, false],
  stopAfterOthers: [false, false, true],
  goOn: [false, true, false],
}

function onFailureOf(stage: Json): OnFailureChoice {
  const is = (name: string, usual: boolean) => (stage[name] === undefined ? usual : String(stage[name]) === 'true')
  if (is('continuePipeline', false)) return 'goOn'
  if (is('failPipeline', true)) return 'stop'
  return is('completeOtherBranchesThenFail', false) ? 'stopAfterOthers' : 'stopBranch'
}

function OnFailure({ draft, base, stage }: { draft: Draft; base: Path; stage: Json }) {
  const selected = onFailureOf(stage)
  const choose = (choice: OnFailureChoice) =>
    draft.change('If it fails', (definition) => {
      const [failPipeline, continuePipeline, completeOtherBranchesThenFail] = failureFlags[choice]
      const stages = stagesOf(definition)
      const at = base[1] as number
      const changed = { ...stages[at], failPipeline, continuePipeline, completeOtherBranchesThenFail }
      return { ...definition, stages: stages.with(at, changed) }
    })
  const ways = Object.entries(onFailure).map(([id, label]) => ({ id: id as OnFailureChoice, label }))
  return <Ways label="What happens then" ways={ways} chosen={selected} onChoose={choose} />
}

/** Entered in minutes, stored in milliseconds. */
function Timeout({ stage, onChange }: { stage: Json; onChange: (value: unknown) => void }) {
  const { stageTimeoutMs } = stage
  const ms = numberOf(stageTimeoutMs)
  return (
    <Field label="Timeout in minutes" help="Longest time of the stage; without it the engine decides.">
      {(tied) => (
        <NumberInput
          tied={tied}
          value={ms === undefined ? stageTimeoutMs : ms / minuteMs}
          onChange={(minutes) => onChange(typeof minutes === 'number' ? minutes * minuteMs : minutes)}
        />
      )}
    </Field>
  )
}
