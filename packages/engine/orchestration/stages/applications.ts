/** Jobs that create, update and remove applications (docs/contracts/orchestration.md#jobs). */
import { maybeObject, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { describePermissionsProblem } from '@fairlead/ports/rights/application-permissions.ts'
import { StageError } from '../machine/failure.ts'
import type { Stage } from '../model.ts'
import { job, type StageType, type TaskContext, type TaskResult } from './stage-type.ts'

const retry = { pollMs: 10_000, timeoutMs: 3600 * 1000 }

/** All three create or update an application. */
export const upsertApplicationStages: readonly StageType[] = [
  'createApplication',
  'updateApplication',
  'upsertApplication',
].map((type) => job(type, upsertApplication, { preview: previewApplication, ...retry }))

async function upsertApplication(context: TaskContext): Promise<TaskResult> {
  const { permissions, ...application } = checkApplication(context.stage)
  const { definitions, stage } = context
  const { name } = application
  const found = await definitions.application(name)
  // A repeated run of this step remembers what was there before its first one.
  const previousState = stage.context['previousState'] ?? found?.all ?? {}
  if (found === undefined) await definitions.createApplication(application)
  else await definitions.updateApplication(application)
  if (permissions !== undefined || found === undefined)
    await definitions.setPermissions({ name, permissions: permissions ?? {} })
  return {
    status: 'SUCCEEDED',
    context: {
      'notification.type': 'upsertapplication',
      'application.name': name,
      previousState,
      newState: { ...application, permissions },
    },
  }
}

async function previewApplication({ stage }: TaskContext): Promise<undefined> {
  checkApplication(stage)
}

const trimmed = (value: unknown) => textOf(value)?.trim()
const toJob = shape({
  application: maybeObject,
  named: [(value) => trimmed(value) ?? shape({ name: trimmed })(value).name, 'application'],
})

/** @throws {StageError} with a text for everything that is wrong with it. */
function checkApplication({ context }: Stage): JsonObject & { name: string } {
  const { application, named: name } = toJob(context)
  if (application === undefined)
    throw new StageError(['The job needs an "application", an object with "name" and "email".'])
  if (!name) throw new StageError(['The application needs a name.'])
  const broken = brokenNameRules(name, application['cloudProviders'])
  if (broken.length > 0) throw new StageError(broken)
  // Later, the application would exist already, open to all users.
  const problem = describePermissionsProblem(application['permissions'])
  if (problem !== undefined) throw new StageError([problem])
  return { ...application, name }
}

/** Rules of cloud providers for the name of an application (docs/contracts/definitions.md#names-of-applications). */
const rules: Readonly<Record<string, { pattern: RegExp; longest: number }>> = {
  aws: { pattern: /^[A-Za-z0-9_.]*$/, longest: 250 },
  openstack: { pattern: /^[A-Za-z0-9_.]*$/, longest: 250 },
  titus: { pattern: /^[A-Za-z0-9_.]*$/, longest: 250 },
  gce: { pattern: /^([A-Za-z][A-Za-z0-9]*)?$/, longest: 63 },
  kubernetes: { pattern: /^[A-Za-z][A-Za-z0-9-]*$/, longest: 63 },
  appengine: { pattern: /^[a-z0-9]*$/, longest: 58 },
  dcos: { pattern: /^[a-z0-9]*$/, longest: 127 },
  tencentcloud: { pattern: /^[A-Za-z0-9_.\-\u4e00-\u9fa5]*$/, longest: 50 },
}

/** One text for each rule of a listed provider that the name breaks. */
function brokenNameRules(name: string, cloudProviders: unknown): string[] {
  const listed = Array.isArray(cloudProviders)
    ? cloudProviders.map(String)
    : String(cloudProviders ?? '').split(',')
  return listed.flatMap((provider) => {
    const key = provider.trim().toLowerCase()
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined
    if (rule === undefined) return []
    const broken: string[] = []
    if (!rule.pattern.test(name))
      broken.push(`The name "${name}" has characters that ${key} does not permit.`)
    if (name.length > rule.longest)
      broken.push(`The name has ${name.length} characters; ${key} permits ${rule.longest}.`)
    return broken
  })
}

/** Removes an application that has no clusters and no security groups any more. */
export const deleteApplicationStage: StageType = {
  type: 'deleteApplication',
  steps: [
    {
      name: 'verifyNoDependencies',
      execute: verifyNoDependencies,
      readsOnly: true,
      pollMs: 5000,
      timeoutMs: 10 * 60_000,
    },
    { name: 'deleteApplication', execute: deleteApplication, ...retry },
  ],
}

async function verifyNoDependencies(context: TaskContext): Promise<TaskResult> {
  const name = applicationOf(context)
  const errors: string[] = []
  const clusters = await context.infrastructure.clusterNames(name)
  if (clusters.length > 0)
    errors.push(`Application has outstanding dependencies: clusters ${clusters.join(', ')}`)
  const groups = await context.infrastructure.securityGroupNames(name)
  if (groups.length > 0)
    errors.push(`Application has outstanding dependencies: security groups ${groups.join(', ')}`)
  if (errors.length > 0) throw new StageError(errors)
  return { status: 'SUCCEEDED' }
}

async function deleteApplication(context: TaskContext): Promise<TaskResult> {
  const name = applicationOf(context)
  const told = { 'notification.type': 'deleteapplication', 'application.name': name }
  const { definitions } = context
  const found = await definitions.application(name)
  if (found === undefined) return { status: 'SUCCEEDED', context: told }
  await definitions.removeApplication(name)
  await definitions.removePermissions(name)
  return { status: 'SUCCEEDED', context: { ...told, previousState: found.all } }
}

function applicationOf(context: TaskContext): string {
  const { named: name } = toJob(context.stage.context)
  if (!name) throw new StageError(['The job does not name an application.'])
  return name
}
