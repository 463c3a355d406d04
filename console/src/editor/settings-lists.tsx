/** Settings of a pipeline by section, and its lists that stages have as well. */

import { type JsonObject, objectsOf, scalarOf, textsOf } from '@fairlead/base/json/values.ts'
import {
  expectedArtifactFields,
  notificationFields,
  pipelineFields,
  pipelineParameterFields,
  triggerTypes,
} from '@fairlead/model/stage-types/pipeline-parts.ts'
import { ChoiceField } from '../components/form-fields.tsx'
import { Panel } from '../components/screen.tsx'
import { freeName } from '../model/names.ts'
import { stamps } from './changes.ts'
import type { Draft } from './draft.ts'
import { FieldList, OtherProblems } from './fields.tsx'
import { type ItemKind, ItemList } from './item-list.tsx'
import { type Path, withValueAt } from './json-path.ts'
import { describeText, type FieldDescription } from './stages.ts'

const withFields = (fields: readonly FieldDescription[]): ItemKind['form'] => {
  return (_item, base, draft) => <FieldList draft={draft} base={base} fields={fields} />
}

const parameters: ItemKind = {
  itemName: 'parameter',
  form: withFields(pipelineParameterFields),
  detail: ({ label, required }) =>
    [scalarOf(label), required === true && 'required'].filter(Boolean).join(', '),
  fresh: (items) => ({
    name: freeName('parameter', (name) => items.some((item) => item['name'] === name), ''),
    required: false,
  }),
  empty: 'A start asks for nothing. Parameters let it ask for values.',
}

const triggers: ItemKind = {
  itemName: 'trigger',
  form: (item, path, draft) => <TriggerForm draft={draft} item={item} path={path} />,
  title: ({ type }) => triggerTypes.find((each) => each.type === type)?.label ?? scalarOf(type),
  detail: (item) => {
    const { cronExpression, source, job, repository, slug, subscriptionName, enabled } = item
    const event = scalarOf(
      cronExpression ?? job ?? repository ?? slug ?? subscriptionName ?? source,
    )
    return [event, enabled !== true && 'off'].filter(Boolean).join(', ')
  },
  fresh: () => ({ type: 'webhook', enabled: true, id: crypto.randomUUID() }),
  empty: 'Only users and programs start this pipeline. Triggers start it by themselves.',
}

export const notifications = (of: 'pipeline' | 'stage'): ItemKind => ({
  itemName: 'notification',
  form: withFields(notificationFields(of)),
  title: ({ type, address }) =>
    [scalarOf(type), scalarOf(address)].filter(Boolean).join(' ') || undefined,
  detail: ({ when }) => textsOf(when).join(', '),
  fresh: () => ({ type: 'email', level: of, when: [`${of}.failed`] }),
  empty: 'Nothing is sent.',
})

export const artifacts: ItemKind = {
  itemName: 'artifact',
  form: withFields(expectedArtifactFields),
  title: ({ displayName, id }) => scalarOf(displayName) ?? scalarOf(id),
  fresh: () => ({ id: crypto.randomUUID(), displayName: '', matchArtifact: {} }),
  empty: 'No artifact is expected.',
}

export const sections = [
  { id: 'general', label: 'Settings', list: undefined, kind: undefined },
  { id: 'parameters', label: 'Parameters', list: 'parameterConfig', kind: parameters },
  { id: 'triggers', label: 'Triggers', list: 'triggers', kind: triggers },
  {
    id: 'notifications',
    label: 'Notifications',
    list: 'notifications',
    kind: notifications('pipeline'),
  },
  { id: 'artifacts', label: 'Artifacts', list: 'expectedArtifacts', kind: artifacts },
] as const

export type SectionId = (typeof sections)[number]['id']

/** Keys that another view shows, or that the store sets. */
const elsewhere = [
  ...['application', 'id', 'stages', 'index', 'schema', ...stamps],
  ...['parameterConfig', 'triggers', 'notifications', 'expectedArtifacts'],
]

const nameField = describeText('name', {
  required: true,
  expression: false,
  help: 'Each name exists once in an application.',
})

export function PipelineSettings({ draft, section }: { draft: Draft; section: SectionId }) {
  const { label, list, kind } = sections.find(({ id }) => id === section) ?? sections[0]
  const count = list === undefined ? undefined : objectsOf(draft.definition.value[list]).length
  return (
    <Panel class="editor-panel" title={label} count={count}>
      {list === undefined ? (
        <FieldList
          draft={draft}
          base={[]}
          fields={[nameField, ...pipelineFields]}
          known={elsewhere}
        />
      ) : (
        <ItemList draft={draft} path={[list]} kind={kind} />
      )}
    </Panel>
  )
}

function TriggerForm({ draft, item, path }: { draft: Draft; item: JsonObject; path: Path }) {
  const known = triggerTypes.find(({ type }) => type === item['type'])
  const choose = (type: string) =>
    draft.change('Change Type', (definition) => {
      const kept = ['id', 'enabled', 'description', 'runAsUser'].filter(
        (name) => item[name] !== undefined,
      )
      return withValueAt(definition, path, {
        type,
        ...Object.fromEntries(kept.map((name) => [name, item[name]])),
      })
    })
  return (
    <>
      <ChoiceField
        label="Type"
        value={scalarOf(item['type']) ?? ''}
        choices={triggerTypes.map(({ type, label }) => [type, label])}
        help={known?.description ?? 'This type is not known here. Its fields are kept as they are.'}
        onChange={choose}
      />
      <OtherProblems draft={draft} base={path} fields={known?.fields ?? []} />
      <FieldList
        key={known?.type}
        draft={draft}
        base={path}
        fields={known?.fields ?? []}
        known={['type', 'id']}
      />
    </>
  )
}
