/** The form of a webhook: the request in one line, and what is waited for. */
import { textOf } from '../../model/read.ts'
import { SelectInput } from '../inputs.tsx'
import { F, Fold, useForm, type Way, Ways } from './form.tsx'

type Waiting = 'response' | 'getMethod' | 'locationHeader' | 'webhookResponse'

export const webhookFields = [
  ...['url', 'method', 'payload', 'customHeaders', 'waitForCompletion', 'statusUrlResolution', 'statusUrlJsonPath'],
  ...['statusJsonPath', 'progressJsonPath', 'successStatuses', 'terminalStatuses', 'canceledStatuses'],
]

const methods = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE', 'HEAD'].map((value) => ({ value }))
const ways: readonly Way<Waiting>[] = [
  { id: 'response', label: 'The response', help: 'Any success ends the stage.' },
  { id: 'getMethod', label: 'The same address', help: 'GET until it reports the end.' },
  { id: 'locationHeader', label: 'The Location header', help: 'Where the response leads.' },
  { id: 'webhookResponse', label: 'An address in the response', help: 'Found by a path in its JSON.' },
]

export function WebhookForm() {
  const { holder, get } = useForm()
  const method = (textOf(get('method')) ?? 'POST').toUpperCase()
  return (
    <>
      <div class="form-row webhook-line">
        <F
          name="method"
          label="Method"
          help=""
          render={({ tied, onChange }) => <SelectInput tied={tied} value={method} choices={methods} onChange={onChange} />}
        />
        <F name="url" label="Address" isCode required placeholder="https://ci.example.com/api/jobs" help="" />
      </div>
      {(!['GET', 'HEAD'].includes(method) || holder['payload'] !== undefined) && (
        <F name="payload" label="Body" help='JSON, such as {"version": "${parameters.version}"}.' />
      )}
      <F name="customHeaders" label="Headers" help="Secrets belong in the configuration, not here." />
      <WaitingFields />
    </>
  )
}

function WaitingFields() {
  const { draft, base, get } = useForm()
  const waits = String(get('waitForCompletion')) === 'true'
  const chosen = waits ? ((textOf(get('statusUrlResolution')) ?? 'getMethod') as Waiting) : 'response'
  const choose = (way: Waiting) => {
    const set = (name: string, value: unknown) => draft.set([...base, name], value, 'Change what is waited for')
    set('waitForCompletion', way !== 'response')
    if (way !== 'response') set('statusUrlResolution', way)
  }
  return (
    <>
      <Ways label="Wait for" ways={ways} chosen={chosen} onChoose={choose} />
      {chosen === 'webhookResponse' && (
        <F name="statusUrlJsonPath" label="Path of the address" isCode placeholder="$.links.status" help="In the response." />
      )}
      {waits && (
        <>
          <F
            name="statusJsonPath"
            label="Path of the status"
            isCode
            placeholder="$.status"
            help="Unless given, any success ends the stage."
          />
          <F name="successStatuses" label="Success" placeholder="SUCCESS, DONE" help="Separated by commas." />
          <F name="terminalStatuses" label="Failure" placeholder="FAILED, ERROR" help="The stage fails at once." />
          <Fold title="Cancelled, and progress">
            <F name="canceledStatuses" label="Cancelled" help="Separated by commas." />
            <F name="progressJsonPath" label="Path of a text to show" isCode help="While the stage waits." />
          </Fold>
        </>
      )}
    </>
  )
}
