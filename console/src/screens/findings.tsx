/** What the examination of the installation finds, worst first, each with its fix. For administrators. */
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { Button } from '../components/button.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { Loaded } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import type { Kind } from '../model/status.ts'
import { capital, plural, serviceWord } from '../words.ts'

const verdicts: Readonly<Record<Schemas['Examination']['verdict'], { readonly kind: Kind; readonly word: string }>> = {
  problem: { kind: 'failed', word: 'problem' },
  warning: { kind: 'warning', word: 'warning' },
  ok: { kind: 'succeeded', word: 'in order' },
}

export function Findings() {
  const live = useLive('/doctor', {}, { refresh: 'open' })
  const again = (
    <Button small icon="refresh" onClick={() => live.refresh()}>
      Examine again
    </Button>
  )
  return (
    <Panel title="Findings" flush actions={again}>
      {live.reading.value.readAtMs === undefined && live.reading.value.error === undefined && (
        <p class="panel-note">Fairlead examines its configuration, certificates, clocks and services: a few seconds.</p>
      )}
      <Loaded live={live} rows={3}>
        {(answer) => <Examined {...answer} />}
      </Loaded>
    </Panel>
  )
}

function Examined({ findings, publicUrl, addresses }: Schemas['Examination']) {
  const of = (...wanted: readonly string[]) =>
    wanted.flatMap((verdict) => findings.filter((finding) => finding.verdict === verdict))
  const [open, good] = [of('problem', 'warning'), of('ok')]
  const attention = open.length === 1 ? 'One finding needs attention.' : `${open.length} findings need attention.`
  return (
    <>
      <p class="panel-note">
        {open.length === 0 ? `Nothing to do: ${plural(good.length, 'check')} in order.` : attention} Public address:{' '}
        <Name text={publicUrl} max={100} />
      </p>
      <List findings={open} />
      {addresses.length > 0 && (
        <div class="panel-note">
          <h3>Addresses to register at the identity provider</h3>
          <ul>
            {addresses.map(({ url, what, login }) => (
              <li key={`${login} ${url}`}>
                {login}, {what}: <Copied text={url} />
              </li>
            ))}
          </ul>
        </div>
      )}
      {good.length > 0 && (
        <details>
          <summary class="panel-note">{plural(good.length, 'check')} in order</summary>
          <List findings={good} />
        </details>
      )}
    </>
  )
}

function List({ findings }: { findings: Schemas['Examination']['findings'] }) {
  return (
    <ul class="rows">
      {findings.map(({ subject, verdict, tried, found, advice, guide }, index) => (
        <li key={index} class="finding">
          <StatusMark kind={verdicts[verdict].kind} label={verdicts[verdict].word} />
          <div>
            <strong>
              <Name text={subjectWord(subject)} max={120} />
            </strong>
            <p>
              <Name text={found} max={600} />
            </p>
            {advice !== undefined && (
              <Fix advice={advice} of={subject === 'Configuration' ? `${found} ${advice}` : advice} guide={guide} />
            )}
            <p class="quiet">
              Tried: <Name text={tried} max={300} />
            </p>
          </div>
        </li>
      ))}
    </ul>
  )
}

/** "Service clouddriver" is the deployment service. */
function subjectWord(subject: string): string {
  const word = serviceWord(/^Service (\w+)$/.exec(subject)?.[1])
  return word === undefined ? subject : capital(word)
}

/** Settings, variables, options and commands within a sentence. */
const codeInAdvice =
  /(?<![\w.-])(?:[a-z][\w-]*(?:\.[\w-]+){1,9}(?:: (?:true|false))?|[A-Z]{2,}(?:_[A-Z]+){1,9}|--[a-z-]+|chmod \d+|fairlead [a-z]+)(?![\w-])/g

/** What to do, with what has to be set or run ready to be copied. @param of The text that names it. */
function Fix({ advice, of, guide }: { advice: string; of: string; guide: string | undefined }) {
  const codes = [...new Set([...of.matchAll(codeInAdvice)].map(([code]) => code))]
  return (
    <div class="fix">
      <p>
        <strong>Fix:</strong> <Name text={advice} max={600} />
      </p>
      <p class="chips">
        {codes.map((code) => (
          <Copied key={code} text={code} />
        ))}
        {guide !== undefined && (
          <span class="row">
            <span class="muted">Guide</span> <Copied text={guide} />
          </span>
        )}
      </p>
    </div>
  )
}

function Copied({ text }: { text: string }) {
  return (
    <span class="copied">
      <code>
        <Name text={text} max={200} />
      </code>
      <CopyButton text={text} label={`Copy ${text}`} />
    </span>
  )
}
