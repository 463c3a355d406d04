/** Traffic guards of an application, as rows of a form. */
import { CheckField, ChoiceField, TextField } from '../components/form-fields.tsx'
import { RecordRows } from '../components/record-rows.tsx'
import { type Json, textOf } from '../model/read.ts'
import { settingsWords } from '../settings-words.ts'
import { words } from '../words.ts'
import { useAccounts } from './infrastructure-head.tsx'

interface TrafficGuardsProps {
  readonly guards: readonly Json[]
  readonly onChange: (guards: readonly Json[]) => void
}

export function TrafficGuards({ guards, onChange }: TrafficGuardsProps) {
  const accounts = (useAccounts().reading.value.body ?? []).map(({ name }) => name)
  return (
    <div class="answer">
      <p class="muted">{settingsWords.guardsMeaning}</p>
      {guards.length === 0 && <p>{settingsWords.noGuards}</p>}
      <RecordRows
        records={guards}
        onChange={onChange}
        label={settingsWords.guard}
        removeLabel={settingsWords.removeGuard}
        addLabel={settingsWords.addGuard}
        added={{ account: accounts[0] ?? '*', location: '*', stack: '*', detail: '*', enabled: true }}
      >
        {(guard, set) => <GuardFields guard={guard} accounts={accounts} set={set} />}
      </RecordRows>
    </div>
  )
}

interface GuardFieldsProps {
  readonly guard: Json
  readonly accounts: readonly string[]
  readonly set: (change: Json) => void
}

function GuardFields({ guard, accounts, set }: GuardFieldsProps) {
  return (
    <>
      <ChoiceField
        label={words.account}
        value={textOf(guard['account']) ?? ''}
        choices={[...accounts, '*']}
        onChange={(account) => set({ account })}
      />
      {(['location', 'stack', 'detail'] as const).map((key) => (
        <TextField
          key={key}
          label={{ location: words.region, stack: settingsWords.stack, detail: settingsWords.detail }[key]}
          help={settingsWords.allHelp}
          value={textOf(guard[key]) ?? ''}
          onChange={(text) => set({ [key]: text })}
        />
      ))}
      <CheckField
        label={settingsWords.guardEnabled}
        checked={guard['enabled'] !== false}
        onChange={(enabled) => set({ enabled })}
      />
    </>
  )
}
