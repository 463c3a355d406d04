/** Settings of the pipeline itself, by section: general, parameters, triggers, notifications, artifacts. */
import { Panel } from '../components/panel.tsx'
import { objectsOf } from '../model/read.ts'
import type { FieldDescription } from './descriptions.ts'
import type { Draft } from './draft.ts'
import { FieldList, FieldView } from './fields.tsx'
import { generalFields } from './pipeline-fields.ts'
import { ArtifactList, NotificationList, ParameterList, TriggerList } from './settings-lists.tsx'
import { editorWords } from './words.ts'

export const sections = [
  { id: 'general', label: editorWords.settings, list: undefined },
  { id: 'parameters', label: 'Parameters', list: 'parameterConfig' },
  { id: 'triggers', label: 'Triggers', list: 'triggers' },
  { id: 'notifications', label: 'Notifications', list: 'notifications' },
  { id: 'artifacts', label: 'Artifacts', list: 'expectedArtifacts' },
] as const

export type SectionId = (typeof sections)[number]['id']

/** Keys that another view shows, or that the store sets. */
const elsewhere = [
  'name',
  'application',
  'id',
  'stages',
  'parameterConfig',
  'triggers',
  'notifications',
  'expectedArtifacts',
  'index',
  'schema',
  'updateTs',
  'lastModifiedBy',
  'lastModified',
  'createTs',
]

const nameField: FieldDescription = {
  name: 'name',
  kind: 'text',
  required: true,
  onlyChoices: false,
  expression: false,
  help: 'Each name exists once in an application.',
}

export function PipelineSettings({ draft, section }: { draft: Draft; section: SectionId }) {
  const { label, list } = sections.find(({ id }) => id === section) ?? sections[0]
  const count = list === undefined ? undefined : objectsOf(draft.definition.value[list]).length
  return (
    <Panel class="editor-panel" title={label} {...(count !== undefined && { count })}>
      {section === 'general' && (
        <>
          <FieldView draft={draft} base={[]} field={nameField} label={editorWords.name} />
          <FieldList draft={draft} base={[]} fields={generalFields} known={elsewhere} />
        </>
      )}
      {section === 'parameters' && <ParameterList draft={draft} />}
      {section === 'triggers' && <TriggerList draft={draft} />}
      {section === 'notifications' && <NotificationList draft={draft} path={['notifications']} of="pipeline" />}
      {section === 'artifacts' && <ArtifactList draft={draft} path={['expectedArtifacts']} />}
    </Panel>
  )
}
