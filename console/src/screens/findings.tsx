/** What the examination of the installation finds, worst first, each with its fix. For administrators. */
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { Button } from '../components/button.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { Loaded } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { capital, plural, serviceWord } from '../words.ts'

type Finding = Schemas['Examination']['findings'][number]

const verdicts = {
  problem: { kind: 'failed', label: 'problem' },
  warning: { kind: 'warning', label: 'warning' },
  ok: { kind: 'succeeded', label: 'in order' },
} as const

export function Findings() {
  const live = useLive('/doctor', {}, { refresh: 'open' })
  const { readAtMs, error } = live.reading.value
  const again = (
    <Button small icon="refresh" onClick={() => live.refresh()}>
      Examine again
    </Button>
  )
  return (
    <Panel title="Findings" flush actions={again}>
      {readAtMs === undefined && error === undefined && (
        <p class="panel-note">Fairlead examines its configuration, certificates, clocks and services: a few seconds.</p>
      )}
      <Loaded live={live} rows={3}>
        {(answer) => <Examined {...answer} />}
      </Loaded>
    </Panel>
  )
}

function Examined({ findings, publicUrl, addresses }: Schemas['Examination']) {
  const { problem = [], warning = [], ok = [] } = Object.groupBy(findings, ({ verdict }) => verdict)
  const open = [...problem, ...warning]
  const inOrder = `${plural(ok.length, 'check')} in order`
  return (
    <>
      <p class="panel-note">
        {open.length === 0 ? `Nothing to do: ${inOrder}.` : `Needs attention: ${plural(open.length, 'finding')}.`} Public address:{' '}
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
      {ok.length > 0 && (
        <details>
          <summary class="panel-note">{inOrder}</summary>
          <List findings={ok} />
        </details>
      )}
    </>
  )
}

function List({ findings }: { findings: readonly Finding[] }) {
  return (
    <ul class="rows">
      {findings.map((finding, index) => (
        <li key={index} class="finding">
          <StatusMark {...verdicts[finding.verdict]} />
          <div>
            <strong>
              <Name text={subjectWord(finding)} max={120} />
            </strong>
            <p>
              <Name text={finding.found} max={600} />
            </p>
            {finding.advice !== undefined && (
              <p class="fix">
                <strong>Fix:</strong> <Name text={finding.advice} max={600} />
                {finding.guide !== undefined && (
                  <>
                    . Guide: <Copied text={finding.guide} />
                  </>
                )}
              </p>
            )}
            <p class="quiet">
              Tried: <Name text={finding.tried} max={300} />
            </p>
          </div>
        </li>
      ))}
    </ul>
  )
}

/** "Service clouddriver" is the deployment service. */
function subjectWord({ subject }: Finding): string {
  const word = serviceWord(/^Service (\w+)$/.exec(subject)?.[1])
  return word === undefined ? subject : capital(word)
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
