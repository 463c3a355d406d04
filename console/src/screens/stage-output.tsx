/** What a stage has written: all of it in its tab, the last lines beside the cause of a failure. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import { useLive } from '../api/live.ts'
import { toText } from '../api/output.ts'
import { LogView } from '../components/log-view.tsx'
import { ProgramOutput } from '../components/program-tabs.tsx'
import { Loaded } from '../components/states.tsx'
import { toPlain } from '../model/ansi.ts'
import { instancesOf } from '../model/server-groups.ts'
import type { GroupPlace, Program, StageBuild, StageOutput } from '../model/stage-output.ts'

const tailLines = 20

interface StageLogProps {
  readonly output: StageOutput
  readonly name: string
  readonly isEnded: boolean
  /** The line in the address. */
  readonly line: string | undefined
}

export function StageLog({ output, name, isEnded, line }: StageLogProps) {
  if (output.kind === 'text') return <LogView text={output.text} name={name} isEnded={isEnded} />
  if (output.kind === 'program') return <ProgramOutput key={output.program.id} {...output.program} line={line} />
  return <BuildLog build={output.build} name={name} isEnded={isEnded} />
}

function useBuildOutput(build: StageBuild | undefined, isEnded: boolean) {
  return useLive(
    '/v3/builds/{buildMaster}/build/{number}/output',
    build && { path: { buildMaster: build.host, number: String(build.number) }, query: { job: build.job } },
    { refresh: isEnded ? 'open' : 'live', isBusy: () => !isEnded },
  )
}

function BuildLog({ build, name, isEnded }: { build: StageBuild; name: string; isEnded: boolean }) {
  return (
    <Loaded live={useBuildOutput(build, isEnded)} rows={6}>
      {({ log }) => <LogView text={log} name={name} isEnded={isEnded} />}
    </Loaded>
  )
}

/** The last lines, read once. */
export function OutputTail({ output, name }: { output: StageOutput; name: string }) {
  if (output.kind === 'text') return <Tail text={output.text} name={name} />
  return output.kind === 'build' ? (
    <BuildTail build={output.build} name={name} />
  ) : (
    <ProgramTail program={output.program} name={name} />
  )
}

function BuildTail({ build, name }: { build: StageBuild; name: string }) {
  return (
    <Loaded live={useBuildOutput(build, true)} rows={6}>
      {({ log }) => <Tail text={log} name={name} />}
    </Loaded>
  )
}

export function ProgramTail({ program, name }: { program: Program; name: string }) {
  const live = useTail(program, {})
  const { body, error } = live.reading.value
  const isEmpty = body !== undefined && toText(body.output, undefined).trim() === ''
  // A container that starts again and again has written why before its last start.
  const before = useTail(isEmpty && program.id.startsWith('pod ') ? program : undefined, { previous: 'true' }).reading.value.body
  if (error?.status === 404) return <p class="muted">Its output is no longer kept.</p>
  return (
    <Loaded live={live} rows={6}>
      {({ output }) => <Tail text={toText(before?.output ?? output, undefined)} name={name} />}
    </Loaded>
  )
}

function useTail(program: Program | undefined, more: { previous?: string }) {
  const { account = '', region = '', id = '', provider } = program ?? {}
  const query = { ...(provider !== undefined && { provider }), tail: tailLines, ...more }
  return useLive(
    '/instances/{account}/{region}/{instanceId}/console',
    program && { path: { account, region, instanceId: id }, query },
    { refresh: 'open' },
  )
}

function Tail({ text, name }: { text: string; name: string }) {
  const box = useRef<HTMLPreElement>(null)
  const lines = toPlain(text.slice(-100_000)).trimEnd().split('\n')
  useLayoutEffect(() => box.current?.scrollTo(0, box.current.scrollHeight), [text])
  if (lines.join('') === '') return <p class="muted">It has written nothing.</p>
  return (
    <pre class="output-tail" ref={box} role="log" aria-live="off" tabIndex={0} aria-label={`Last lines of ${name}`}>
      {lines.slice(-tailLines).join('\n')}
    </pre>
  )
}

/** Instances of a server group that are not up now; undefined until they are read, or where the group is gone. */
export function useNotUp(application: string, place: GroupPlace | undefined) {
  const path = place && {
    applicationName: application,
    account: place.account,
    region: place.region,
    serverGroupName: place.name,
  }
  const group = useLive('/applications/{applicationName}/serverGroups/{account}/{region}/{serverGroupName}', path && { path })
    .reading.value.body
  return group && { group, instances: instancesOf(group).filter(({ healthState }) => healthState !== 'Up') }
}
