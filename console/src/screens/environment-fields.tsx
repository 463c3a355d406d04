/** Environments of an application as rows: where each is, who may promote, and its conditions with a sentence each. */
import { type JsonObject, objectsOf, scalarOf, textsOf } from '@fairlead/base/json/values.ts'
import { useAccounts } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { Button } from '../components/button.tsx'
import { CheckList, Fields, type FieldTable, RecordRows } from '../components/form-fields.tsx'
import { splitList } from '../model/names.ts'
import type { FieldsProps } from './settings-tabs.tsx'

interface Kind {
  readonly text: string
  readonly sentence: string
  readonly fields: FieldTable
  readonly added: JsonObject
}

const number = { type: 'number', min: 0 } as const

/** By the type of the constraint. A canary is declared as JSON. */
const kinds: Readonly<Record<string, Kind>> = {
  judgment: {
    text: 'A person approves',
    sentence: 'A version waits until a user has reviewed it.',
    fields: {
      instructions: { label: 'What to look at' },
      roles: { label: 'Roles that may approve', help: 'Separated by commas; any who may run it.' },
    },
    added: { type: 'judgment' },
  },
  soakTime: {
    text: 'Soak time',
    sentence: 'A version has to run in the environment before for so long.',
    fields: { minutes: { label: 'Minutes', input: number, required: true } },
    added: { type: 'soakTime', minutes: 30 },
  },
  window: {
    text: 'Only at times',
    sentence: 'A version is deployed between these hours only.',
    fields: {
      startHour: { label: 'From (hour)', input: number },
      endHour: { label: 'Until (hour)', input: number },
    },
    added: { type: 'window', whitelist: [{ startHour: 9, endHour: 17 }] },
  },
  verification: {
    text: 'Check afterwards',
    sentence: 'Once it is deployed, requests to the path have to succeed.',
    fields: {
      path: { label: 'Path', required: true },
      seconds: { label: 'Seconds', input: number },
      rollback: { label: 'If it fails, what ran before takes the traffic again' },
    },
    added: {
      type: 'verification',
      checks: [{ type: 'http', path: '/', seconds: 30 }],
      rollback: true,
    },
  },
}

/** Where a field of the form stands in the constraint. */
const places: Readonly<Record<string, 'whitelist' | 'checks'>> = {
  startHour: 'whitelist',
  endHour: 'whitelist',
  path: 'checks',
  seconds: 'checks',
}

function formOf(constraint: JsonObject, fields: FieldTable) {
  const read = (name: string) => {
    const place = places[name]
    const value = place === undefined ? constraint[name] : objectsOf(constraint[place])[0]?.[name]
    return name === 'rollback' ? value === true : Array.isArray(value) ? value.join(', ') : value
  }
  return Object.fromEntries(Object.keys(fields).map((name) => [name, read(name)]))
}

function withField(
  constraint: JsonObject,
  name: string,
  given: string | boolean,
  fields: FieldTable,
): JsonObject {
  const isNumber = fields[name]?.input?.type === 'number'
  const text = name === 'roles' ? splitList(String(given)) : isNumber ? Number(given) : given
  const value = text === '' || (Array.isArray(text) && text.length === 0) ? undefined : text
  const place = places[name]
  if (place === undefined) return { [name]: value }
  const [first = {}, ...others] = objectsOf(constraint[place])
  return { [place]: [{ ...first, [name]: value }, ...others] }
}

export function EnvironmentFields({ application, values, set }: FieldsProps) {
  const accounts = (useAccounts().body ?? []).map(({ name }) => name)
  const environments = objectsOf(values['environments'])
  const found =
    useLive(
      '/applications/{application}/environments',
      { path: { application } },
      'slow',
    ).body?.environments.filter(({ versions }) => versions.length > 0) ?? []
  const put = (changed: readonly JsonObject[]) => set('environments', changed)
  const propose = () =>
    put(
      found.map(({ name, accounts: own }, at) => ({
        name,
        accounts: own,
        constraints: at === 0 ? [] : [{ type: 'judgment' }],
      })),
    )
  return (
    <div class="answer">
      <p class="muted">
        Versions go from the first environment to the last. The conditions of one hold a version up
        before it is deployed there.
      </p>
      {environments.length === 0 && found.length > 1 && (
        <p>
          {`You deploy to ${found.map(({ name }) => name).join(' and ')}. `}
          <Button icon="layers" onClick={propose}>
            Make them a way to production
          </Button>
        </p>
      )}
      <RecordRows
        noun="environment"
        records={environments}
        onChange={put}
        added={{ name: '', accounts: [], constraints: [] } as JsonObject}
      >
        {(environment, change) => (
          <div>
            <Fields
              fields={{
                name: { label: 'Name', required: true },
                mayPromote: {
                  label: 'Roles that may promote',
                  help: 'Separated by commas; all unless given.',
                },
              }}
              values={{
                name: environment['name'],
                mayPromote: textsOf(environment['mayPromote']).join(', '),
              }}
              onChange={(name, value) => {
                const roles = splitList(String(value))
                change(
                  name === 'name'
                    ? { name: value }
                    : { mayPromote: roles.length > 0 ? roles : undefined },
                )
              }}
            />
            <CheckList
              label="Accounts"
              choices={accounts.map((id) => ({ id, label: id }))}
              chosen={textsOf(environment['accounts'])}
              onChange={(chosen) => change({ accounts: chosen })}
            />
            <RecordRows
              noun="condition"
              records={objectsOf(environment['constraints'])}
              onChange={(constraints) => change({ constraints })}
              added={kinds['judgment']?.added ?? {}}
            >
              {(constraint, put) => <Condition constraint={constraint} put={put} />}
            </RecordRows>
          </div>
        )}
      </RecordRows>
    </div>
  )
}

function Condition({
  constraint,
  put,
}: {
  constraint: JsonObject
  put: (change: JsonObject) => void
}) {
  const type = scalarOf(constraint['type']) ?? ''
  const kind = kinds[type]
  const none = Object.fromEntries(Object.keys(constraint).map((key) => [key, undefined]))
  const choices = Object.entries(kinds).map(([id, { text }]) => [id, text] as const)
  const fields = kind?.fields ?? {}
  return (
    <>
      <Fields
        fields={{
          type: {
            label: 'Condition',
            choices,
            help: kind?.sentence ?? 'It is declared as JSON and stays as it is.',
          },
        }}
        values={{ type }}
        onChange={(_, value) => put({ ...none, ...kinds[String(value)]?.added })}
      />
      <Fields
        fields={fields}
        values={formOf(constraint, fields)}
        onChange={(name, value) => put(withField(constraint, name, value, fields))}
      />
    </>
  )
}
