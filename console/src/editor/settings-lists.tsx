/** Lists of a pipeline that stages have as well, or that have kinds of their own: notifications, artifacts, parameters, triggers. */
import type { ComponentChildren } from 'preact'
import { Banner } from '../components/banner.tsx'
import { Field } from '../components/field.tsx'
import { type Json, objectOf, objectsOf, textOf, textsOf } from '../model/read.ts'
import type { FieldDescription } from './descriptions.ts'
import type { Draft } from './draft.ts'
import { FieldList, ListItem } from './fields.tsx'
import { AddButton, SelectInput } from './inputs.tsx'
import { type Path, valueAt, withValueAt } from './json-path.ts'
import { expectedArtifactFields, notificationFields, parameterFields, triggerTypes } from './pipeline-fields.ts'
import { editorWords } from './words.ts'

interface ListProps {
  readonly draft: Draft
  readonly path: Path
}

interface ItemListProps extends ListProps {
  readonly itemName: string
  readonly fields: (item: Json) => readonly FieldDescription[]
  readonly title: (item: Json) => string | undefined
  readonly detail?: (item: Json) => string | undefined
  /** A new item. */
  readonly fresh: (items: readonly Json[]) => Json
  readonly empty: string
  /** Keys that `head` shows. */
  readonly known?: readonly string[]
  readonly head?: (item: Json, path: Path) => ComponentChildren
}

function ItemList({ draft, path, itemName, fields, title, detail, fresh, empty, known, head }: ItemListProps) {
  const value = valueAt(draft.definition.value, path)
  if (value !== undefined && value !== null && (!Array.isArray(value) || objectsOf(value).length < value.length)) {
    return <Banner tone="warning">This is not a list of objects. Correct it in the text.</Banner>
  }
  const items = objectsOf(value)
  const rows = items.map((item, index) => ({ item, index }))
  const add = () => {
    draft.set([...path, items.length], fresh(items), `Add ${itemName}`)
    draft.shown.value = [...path, items.length, fields({})[0]?.name ?? '']
  }
  return (
    <div class="item-list">
      {items.length === 0 && <p class="quiet">{empty}</p>}
      {rows.map(({ item, index }) => (
        <ListItem
          key={index}
          draft={draft}
          path={path}
          index={index}
          count={items.length}
          title={title(item) ?? `${itemName} ${index + 1}`}
          detail={detail?.(item)}
        >
          {head?.(item, [...path, index])}
          <FieldList
            key={textOf(item['type'])}
            draft={draft}
            base={[...path, index]}
            fields={fields(item)}
            {...(known !== undefined && { known })}
          />
        </ListItem>
      ))}
      <AddButton label={`Add ${itemName}`} onClick={add} />
    </div>
  )
}

export function NotificationList({ draft, path, of }: ListProps & { of: 'pipeline' | 'stage' }) {
  const fields = notificationFields(of)
  return (
    <ItemList
      draft={draft}
      path={path}
      itemName="notification"
      fields={() => fields}
      title={({ type, address }) => [textOf(type), textOf(address)].filter(Boolean).join(' ') || undefined}
      detail={({ when }) => textsOf(when).join(', ')}
      fresh={() => ({ type: 'email', level: of, when: [`${of}.failed`] })}
      empty="Nothing is sent."
    />
  )
}

export function ArtifactList({ draft, path }: ListProps) {
  return (
    <ItemList
      draft={draft}
      path={path}
      itemName="artifact"
      fields={() => expectedArtifactFields}
      title={({ displayName, id }) => textOf(displayName) ?? textOf(id)}
      fresh={() => ({ id: crypto.randomUUID(), displayName: '', matchArtifact: {} })}
      empty="No artifact is expected."
    />
  )
}

export function ParameterList({ draft }: { draft: Draft }) {
  return (
    <ItemList
      draft={draft}
      path={['parameterConfig']}
      itemName="parameter"
      fields={() => parameterFields}
      title={({ name }) => textOf(name)}
      detail={({ label, required }) => [textOf(label), required === true && 'required'].filter(Boolean).join(', ')}
      fresh={(items) => ({ name: freeName(items), required: false })}
      empty="A start asks for nothing. Parameters let it ask for values."
    />
  )
}

function freeName(items: readonly Json[]): string {
  const taken = new Set(items.map(({ name }) => name))
  for (let number = items.length + 1; ; number++) if (!taken.has(`parameter${number}`)) return `parameter${number}`
}

export function TriggerList({ draft }: { draft: Draft }) {
  const path: Path = ['triggers']
  return (
    <ItemList
      draft={draft}
      path={path}
      itemName="trigger"
      fields={(item) => triggerTypes.find(({ type }) => type === item['type'])?.fields ?? []}
      known={['type', 'id']}
      head={(item, at) => <TriggerHead draft={draft} item={item} path={at} />}
      title={({ type }) => triggerTypes.find((each) => each.type === type)?.label ?? textOf(type)}
      detail={(item) => [summaryOf(item), item['enabled'] !== true && 'off'].filter(Boolean).join(', ')}
      fresh={() => ({ type: 'webhook', enabled: true, id: crypto.randomUUID() })}
      empty="Only users and programs start this pipeline. Triggers start it by themselves."
    />
  )
}

function summaryOf(trigger: Json): string | undefined {
  const { cronExpression, source, job, repository, slug, subscriptionName } = trigger
  return textOf(cronExpression ?? job ?? repository ?? slug ?? subscriptionName ?? source)
}

function TriggerHead({ draft, item, path }: { draft: Draft; item: Json; path: Path }) {
  const known = triggerTypes.find(({ type }) => type === item['type'])
  const choose = (type: unknown) =>
    draft.change('Change Type', (definition) => {
      const { id, enabled, description, runAsUser } = objectOf(valueAt(definition, path))
      const kept = Object.fromEntries(
        Object.entries({ id, enabled, description, runAsUser }).filter(([, value]) => value !== undefined),
      )
      return withValueAt(definition, path, { type, ...kept })
    })
  return (
    <Field label={editorWords.type} help={known?.description ?? 'This type is not known here. Its fields are kept as they are.'}>
      {(tied) => (
        <SelectInput
          tied={tied}
          value={item['type']}
          onChange={(type) => type !== undefined && choose(type)}
          choices={triggerTypes.map(({ type, label }) => ({ value: type, label }))}
        />
      )}
    </Field>
  )
}
