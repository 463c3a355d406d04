/** `fairlead deploy`: a folder becomes the version that serves. */

import { readFileSync } from 'node:fs'
import type { Client } from '../client.ts'
import { type CommandContext, defineCommand } from '../command.ts'
import { followDeployment } from '../deploy/follow.ts'
import { findRemedy } from '../deploy/remedies.ts'
import type { UploadedFolder } from '../deploy/upload.ts'
import { exitCodes, Failure, misuse } from '../failure.ts'
import { toSafeText } from '../output.ts'
import { pathOf } from '../path-of.ts'
import { causeOf, formatAround, type Run, type RunStage, reasonOf } from '../runs.ts'
import { formatSpan } from '../span.ts'
import { addressesOf, describeDrain, loadStatus } from './status.ts'

interface StartedDeployment {
  readonly id: string
  readonly environment: string
  readonly version: string
  readonly waitsFor?: string | null
  readonly drift?: readonly { readonly kind: string; readonly name: string }[]
  /** What people should know, such as keys of the file that have no effect. */
  readonly notes?: readonly string[]
}

const shownLines = 20
/** Lines read of all instances together; those of the failed one are among them. */
const readLines = 500

export const deploy = defineCommand({
  name: 'deploy',
  summary: 'send the folder, build it, and let it serve',
  group: 'app',
  words: '[revision]',
  options: {
    detach: { type: 'switch', summary: 'do not follow; prints the id of the run' },
    timeout: {
      type: 'span',
      value: 'SPAN',
      summary: 'stop following after it, with exit code 6; the deployment goes on',
    },
    'no-build': { type: 'switch', summary: 'deploy the image of the version before again' },
    message: {
      type: 'text',
      short: 'm',
      value: 'TEXT',
      summary: 'for people, in the list of runs',
    },
  },
  help: [
    'Sent are files that Git tracks and those that it does not ignore; without Git all that .gitignore does not name. .git, .env*,',
    'node_modules and .venv are never sent; .fairleadignore names more. A revision is sent as it was committed.',
  ].join('\n'),
  run: async (context, { detach, timeout = Number.POSITIVE_INFINITY, message, ...options }) => {
    const { session, output } = context
    const startMs = Date.now()
    const found = session.appFile()
    if (found === undefined)
      throw misuse('There is no .fairlead/app.yml here or above.', 'Write it with: fairlead init')
    const application = session.app()
    const client = await context.connect()
    const order = { application, message, isBuilt: options['no-build'] !== true }
    const started = await startDeployment(client, found.folder, order, context)
    announce(application, started, context)
    const { id, waitsFor } = started
    if (detach) {
      output.line(id)
      return exitCodes.done
    }
    const run = await followDeployment(
      client,
      { id, timeoutMs: timeout, waitsFor: waitsFor ?? undefined },
      context,
    )
    return conclude(client, run, { application, started, startMs, output })
  },
})

async function startDeployment(
  client: Client,
  own: string,
  {
    application,
    message,
    isBuilt,
  }: {
    readonly application: string
    readonly message: string | undefined
    readonly isBuilt: boolean
  },
  context: CommandContext,
): Promise<StartedDeployment> {
  const { session, output, words } = context
  const [revision] = words
  const { findCommit } = await import('../deploy/folder.ts')
  const send = async (folder: string) => {
    const file = readFileSync(`${folder}/.fairlead/app.yml`, 'utf8')
    const environment = session.environment()
    await client.post(pathOf`/apps/${application}/plan`, { file, environment })
    const uploaded = isBuilt ? await upload(client, application, { folder, context }) : undefined
    const commit = isBuilt ? await findCommit(own, revision) : undefined
    if (commit?.isDirty === true) output.note('The folder has changes that are not committed.')
    return client.post<StartedDeployment>(pathOf`/apps/${application}/deployments`, {
      file,
      environment,
      message,
      overwrite: session.flags.yes === true,
      ...(uploaded === undefined
        ? { image: await lastImage(client, application, environment) }
        : { source: uploaded.source }),
      ...(commit !== undefined && {
        commit: `${commit.sha}${commit.isDirty ? '-dirty' : ''}`,
        commitDetails: commit.details,
      }),
    })
  }
  if (revision === undefined) return send(own)
  const { withRevision } = await import('../deploy/upload.ts')
  return withRevision(own, revision, send)
}

function announce(
  application: string,
  { id, version, environment, drift = [], notes = [] }: StartedDeployment,
  { session, output }: CommandContext,
): void {
  output.event({ type: 'started', id, application, environment, version })
  output.note(`Deployment ${id}: ${application} ${version} to ${environment}`)
  for (const note of notes) output.note(`Note: ${note}`)
  if (drift.length > 0 && session.flags.yes !== true)
    output.note(
      `Edited elsewhere and kept: ${drift.map(({ kind, name }) => `${kind} ${name}`).join(', ')}. --yes overwrites.`,
    )
}

/** @throws {Failure} when it failed, or serves and is not reached */
async function conclude(
  client: Client,
  run: Run,
  {
    application,
    started: { id, version, environment },
    startMs,
    output,
  }: {
    readonly application: string
    readonly started: StartedDeployment
    readonly startMs: number
    readonly output: CommandContext['output']
  },
): Promise<number> {
  const services =
    (await environmentOf(client, application, environment).catch(() => undefined))?.services ?? []
  const [host] = services.flatMap(({ hosts }) => hosts)
  if (run.status !== 'SUCCEEDED') {
    const serving = services.find(({ ready }) => ready > 0)?.version ?? undefined
    throw await failureOf(client, run, { host, serving, output })
  }
  const problems = services.flatMap((service) => service.problems ?? [])
  if (problems.length > 0)
    throw new Failure(
      exitCodes.failed,
      'NOT_REACHED',
      `${application} ${version} runs in ${environment}, but clients cannot reach it. ${[...new Set(problems)].join(' ')}`,
      { remedy: 'Once that is mended it is reached without another deployment.' },
    )
  const seconds = (Date.now() - startMs) / 1000
  const addresses = services.flatMap(addressesOf)
  output.event(
    { type: 'ended', id, status: run.status, version, addresses, seconds },
    `${addresses[0] ?? `${application} ${environment}`} serves ${version} after ${formatSpan(Math.round(seconds * 1000))}`,
  )
  for (const line of services.flatMap(describeDrain)) output.note(line)
  return exitCodes.done
}

async function upload(
  client: Client,
  application: string,
  { folder, context: { output } }: { folder: string; context: Pick<CommandContext, 'output'> },
): Promise<UploadedFolder> {
  const { uploadFolder } = await import('../deploy/upload.ts')
  const uploaded = await uploadFolder(client, application, folder)
  const { files, sentFiles, sentBytes } = uploaded
  output.event({ type: 'uploaded', files, sentFiles, sentBytes })
  output.note(
    sentFiles === 0
      ? `Nothing to send: the instance has all ${files} files.`
      : `Sent ${sentFiles} of ${files} files (${Math.ceil(sentBytes / 1024)} KiB).`,
  )
  return uploaded
}

async function environmentOf(client: Client, application: string, name: string | undefined) {
  const { environments = [] } = await loadStatus(client, application)
  return name === undefined ? environments[0] : environments.find((each) => each.name === name)
}

/** @throws {Failure} with 3 when nothing was deployed */
async function lastImage(
  client: Client,
  application: string,
  environment: string | undefined,
): Promise<string> {
  const version = (await environmentOf(client, application, environment))?.lastRun?.version
  if (version !== undefined) return `${application}:${version}`
  throw misuse('Nothing was deployed yet.', 'Leave out --no-build.')
}

async function failureOf(
  client: Client,
  { id, application, status, stages = [], cancellationReason }: Run,
  {
    host,
    serving,
    output,
  }: {
    host: string | undefined
    serving: string | undefined
    output: CommandContext['output']
  },
): Promise<Failure> {
  const outcome = serving === undefined ? 'Nothing serves yet.' : `${serving} still serves.`
  const failed = stages.filter((stage) => stage.status === 'TERMINAL')
  // The innermost one knows most.
  const stage = failed.find(({ id: own }) => !failed.some((other) => other.parentStageId === own))
  const reason =
    (stage && reasonOf(stage)) ??
    failed.map(reasonOf).find((text) => text) ??
    cancellationReason ??
    ''
  const step = stage?.name ?? stage?.type ?? ''
  if (status === 'CANCELED')
    return new Failure(exitCodes.failed, 'CANCELED', `The deployment ${id} was canceled.`, {
      remedy: outcome,
    })
  const cause = causeOf({ stages })
  const lines =
    cause !== undefined
      ? formatAround(cause)
      : stage === undefined
        ? []
        : (await lastLines(client, application, stage)).map((line) => `  ${toSafeText(line)}`)
  if (lines.length > 0) output.note(lines.join('\n'))
  const isExplained = cause !== undefined
  const remedy = findRemedy(`${reason}\n${lines.join('\n')}`, { step, host, isExplained })
  return new Failure(
    exitCodes.failed,
    'DEPLOYMENT_FAILED',
    `${step === '' ? 'The deployment' : `The step "${step}"`} failed${reason === '' ? '.' : `: ${reason.replace(/[^.!?]$/, '$&.')}`} ${outcome}`,
    { remedy },
  )
}

/** Last lines of the failed program; none where its instances are gone. */
async function lastLines(
  client: Client,
  application: string,
  { context = {} }: RunStage,
): Promise<string[]> {
  const groups = Object.values(
    (context['deploy.server.groups'] ?? {}) as Record<string, readonly string[]>,
  ).flat()
  const texts: string[] = []
  try {
    const path = pathOf`/apps/${application}/logs`
    for await (const line of client.lines<{ instance?: string; text?: string }>(path, {
      query: { tail: readLines },
    }))
      if (groups.some((group) => line.instance?.includes(group))) texts.push(line.text ?? '')
  } catch {
    // The reason of the stage has to do.
  }
  return texts.slice(-shownLines)
}
