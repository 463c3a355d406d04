/** A release: its commit, build and tests, where it serves, and everything that happened to it. */
import { type ScreenProps, to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { applicationCrumbs, Loaded, PageHead, Panel } from '../components/screen.tsx'
import { StepRows } from '../components/step-rows.tsx'
import { KeyValue, Name, NameLink, PlainText, Time } from '../components/text.tsx'

type Event = Schemas['Release']['events'][number]

export function ReleaseScreen({ params: { application = '', version = '' } }: ScreenProps) {
  const live = useLive(
    '/applications/{application}/releases/{version}',
    { path: { application, version } },
    { events: 'executions' },
  )
  return (
    <Loaded live={live} title={version} rows={6} empty="There is no such release.">
      {({ commit, build, tests, failure, serves, images, events, version: label, atMs }) => (
        <>
          <PageHead
            tab={`${application} ${label}`}
            title={<Name text={commit?.message?.split('\n')[0] || label} max={100} />}
            crumbs={applicationCrumbs(application)}
          >
            <p>
              {failure
                ? `Not built: ${failure}.`
                : serves.length > 0
                  ? `Serves in ${serves.join(', ')}.`
                  : 'Serves nowhere now.'}
            </p>
          </PageHead>
          <div class="stack">
            <Panel title={label}>
              <KeyValue
                facts={[
                  ['Images', images.join(', ')],
                  [
                    'Commit',
                    commit && [
                      <code key="sha">{commit.sha}</code>,
                      commit.branch && ` on ${commit.branch}`,
                    ],
                  ],
                  ['Author', commit?.author],
                  ['Message', commit?.message && <PlainText key="message" text={commit.message} />],
                  [
                    'Build',
                    build &&
                      `${build.job ?? 'build'} #${build.number}${build.result ? `, ${build.result.toLowerCase()}` : ''}`,
                  ],
                  ['Tests', tests],
                  ['Began', <Time key="began" at={atMs} />],
                ]}
              />
            </Panel>
            <Panel title="What happened" count={events.length} flush>
              <StepRows steps={events.map(toStep)} />
            </Panel>
          </div>
        </>
      )}
    </Loaded>
  )

  function toStep({ kind, atMs, text, state, user, comment, ...seen }: Event) {
    const href = to.evidence(application, seen)
    return {
      key: `${atMs} ${kind} ${text}`,
      status: {
        kind: ({ good: 'succeeded', failed: 'failed', active: 'running' } as const)[state],
        word: state,
      },
      title: <NameLink class="row-link" href={href} text={text} />,
      note: [user && `by ${user}`, comment].filter(Boolean).join(': '),
      action: <Time at={atMs} />,
    }
  }
}
