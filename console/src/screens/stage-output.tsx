/** What a stage has written, or its last lines; and where what its messages name leads. */

import type { Cause } from '@fairlead/base/causes/cause.ts'
import { objectOf, scalarOf } from '@fairlead/base/json/values.ts'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { toText } from '../api/output.ts'
import { LogView } from '../components/log-view.tsx'
import { ProgramOutput } from '../components/program-output.tsx'
import { Loaded } from '../components/screen.tsx'
import { toPlain } from '../model/ansi.ts'
import type { Stage } from '../model/execution.ts'
import { instancesOf } from '../model/server-groups.ts'
import {
  deployedBy,
  type GroupPlace,
  outputOf,
  type Program,
  placeOf,
  type StageOutput,
} from '../model/stage-output.ts'

const tailLines = 20

interface OutputProps {
  readonly output: StageOutput
  readonly name: string
  readonly isEnded?: boolean
  /** The line in the address. */
  readonly line?: string
  /** Number of the line in view at first. */
  readonly openAt?: number
  /** Only the last lines, read once. */
  readonly isTail?: boolean
}

export function Output({
  output,
  name,
  isEnded = true,
  line,
  openAt,
  isTail = false,
}: OutputProps) {
  const show = (text: string) =>
    isTail ? (
      <Tail text={text} name={name} />
    ) : (
      <LogView text={text} name={name} isEnded={isEnded} openAt={openAt} />
    )
  if (output.kind === 'text') return show(output.text)
  if (output.kind === 'build')
    return <BuildOutput {...output.build} isEnded={isEnded} show={show} />
  if (isTail) return <ProgramTail program={output.program} name={name} />
  const shown = { ...output.program, line, isEnded, openAt }
  return <ProgramOutput key={output.program.id} {...shown} />
}

type BuildProps = Extract<StageOutput, { kind: 'build' }>['build'] & {
  isEnded: boolean
  show: (text: string) => VNode
}

function BuildOutput({ host, job, number, isEnded, show }: BuildProps) {
  const live = useLive(
    '/v3/builds/{buildMaster}/build/{number}/output',
    { path: { buildMaster: host, number: String(number) }, query: { job } },
    { refresh: isEnded ? 'open' : 'live', isBusy: () => !isEnded },
  )
  return (
    <Loaded live={live} rows={6}>
      {({ log }) => show(log)}
    </Loaded>
  )
}

export function ProgramTail({ program, name }: { program: Program; name: string }) {
  const { account, region, id, provider } = program
  const useTail = (isRead: boolean, more: { previous?: string }) => {
    const query = { provider, tail: tailLines, ...more }
    const parameters = { path: { account, region, instanceId: id }, query }
    return useLive(
      '/instances/{account}/{region}/{instanceId}/console',
      isRead ? parameters : undefined,
      'open',
    )
  }
  const live = useTail(true, {})
  const { body, error } = live
  const isEmpty = body !== undefined && toText(body.output, undefined).trim() === ''
  // A container that starts again and again has written why before its last start.
  const before = useTail(isEmpty && id.startsWith('pod '), { previous: 'true' }).body
  if (error?.status === 404) return <p class="muted">Its output is no longer kept.</p>
  return (
    <Loaded live={live} rows={6}>
      {({ output }) => <Tail text={toText(before?.output ?? output, undefined)} name={name} />}
    </Loaded>
  )
}

/** The line that says why, and those around it. */
export function CauseLines({ cause, name }: { cause: Cause; name: string }) {
  const { line = 0, text, around } = cause
  const lines = [...around, { line, text }].toSorted((one, other) => one.line - other.line)
  return (
    <pre
      class="output-tail"
      role="log"
      aria-live="off"
      tabIndex={0}
      aria-label={`Cause in ${name}`}
    >
      {lines.map((each) => (
        <div key={each.line}>{each.line === line ? <mark>{text}</mark> : each.text || ' '}</div>
      ))}
    </pre>
  )
}

function Tail({ text, name }: { text: string; name: string }) {
  const box = useRef<HTMLPreElement>(null)
  const lines = toPlain(text.slice(-100_000)).trimEnd().split('\n')
  useLayoutEffect(() => box.current?.scrollTo(0, box.current.scrollHeight), [text])
  if (lines.join('') === '') return <p class="muted">It has written nothing.</p>
  return (
    <pre
      class="output-tail"
      ref={box}
      role="log"
      aria-live="off"
      tabIndex={0}
      aria-label={`Last lines of ${name}`}
    >
      {lines.slice(-tailLines).join('\n')}
    </pre>
  )
}

/** Instances of a server group that are not up now; undefined until they are read, or where the group is gone. */
export function useNotUp(application: string, { name, ...at }: GroupPlace) {
  const path = { applicationName: application, ...at, serverGroupName: name }
  const group = useLive(
    '/applications/{applicationName}/serverGroups/{account}/{region}/{serverGroupName}',
    { path },
  ).body
  return (
    group && {
      group,
      instances: instancesOf(group).filter(({ healthState }) => healthState !== 'Up'),
    }
  )
}

/** Instances of this machine; those of other providers have no ids that a text could be searched for. */
export function instancesIn(text: string): readonly string[] {
  return text.match(/\bi-[0-9a-z]{26}\b/g) ?? []
}

/** Where the server groups, jobs and instances lead that a message of the stages names. */
export function placeLinks(
  application: string,
  stages: readonly Stage[],
  text: string,
): ReadonlyMap<string, string> {
  const links = new Map<string, string>()
  for (const { context } of stages) {
    const at = placeOf(context)
    if (at === undefined) continue
    const names = [
      objectOf(context['source'])['serverGroupName'],
      context['serverGroupName'],
      context['asgName'],
    ]
    for (const name of names.flatMap((each) => scalarOf(each) ?? []))
      links.set(name, to.serverGroup(application, { ...at, name }))
    for (const id of instancesIn(text)) links.set(id, to.instance(application, { ...at, id }))
  }
  for (const group of deployedBy(stages)) links.set(group.name, to.serverGroup(application, group))
  const output = outputOf(stages)
  if (output?.kind === 'program') links.set(output.program.id, to.job(application, output.program))
  return links
}
