/** What each key allows by itself, and an app file cannot mean as a whole. */
import type { AppFile } from './app-file.ts'
import {
  type AppHere,
  environmentNamesOf,
  hostedService,
  mergeEnvironment,
  type ServiceHere,
} from './merge-environment.ts'

/** Names of commands, which an alias cannot have. */
const commandNames: readonly string[] = (
  'login logout open context init validate check deploy status logs exec run rollback promote approve reject cancel scale ' +
  'secret env domains db runs watch start diff apply export connect eject setup completion version help ' +
  'serve stop doctor backup'
).split(' ')

interface Contradiction {
  readonly path: readonly string[]
  readonly message: string
  readonly remedy: string
}

export function findContradictions(file: AppFile): Contradiction[] {
  const inEnvironments = environmentNamesOf(file).flatMap((name) => ofEnvironment(file, name))
  const all = [...ofFile(file), ...inEnvironments]
  const byText = new Map(all.map((each) => [JSON.stringify([each.path, each.message]), each]))
  return [...byText.values()]
}

function ofFile({ services, environments = {}, aliases = {} }: AppFile): Contradiction[] {
  const found: Contradiction[] = []
  if (Object.keys(services).length === 0)
    found.push({
      path: ['services'],
      message: 'the file has no service',
      remedy: 'write for example services: { web: { hosts: [shop.example] } }',
    })
  for (const name of Object.keys(aliases)) {
    if (!commandNames.includes(name)) continue
    found.push({
      path: ['aliases', name],
      message: `"${name}" is a command of its own`,
      remedy: 'choose another name',
    })
  }
  for (const environment of Object.keys(environments)) {
    const service = Object.keys(services).find((name) => name.startsWith(`${environment}-`))
    if (service === undefined) continue
    const rest = service.slice(environment.length + 1)
    found.push({
      path: ['services', service],
      message: `it would have the name of the service "${rest}" in the environment "${environment}"`,
      remedy: 'choose another name',
    })
  }
  return found
}

function ofEnvironment(file: AppFile, name: string): Contradiction[] {
  const here = mergeEnvironment(file, name)
  const part = file.environments?.[name]
  const inPart = (path: readonly string[]) => hasPath(part, path)
  const within = (path: readonly string[]) =>
    inPart(path) ? ['environments', name, ...path] : path
  const found = [
    ...ofVariables(here),
    ...ofAttachments(file, here),
    ...here.services.flatMap(ofService),
    ...ofHosts(here),
  ]
  const contradictions = found.map((each) => ({ ...each, path: within(each.path) }))
  if (
    part?.hosts === undefined ||
    part.hosts === null ||
    hostedService(file.services) !== undefined
  )
    return contradictions
  return [
    ...contradictions,
    {
      path: ['environments', name, 'hosts'],
      message: 'it means the only service with hosts, and the file has none or several',
      remedy: `write services: { web: { hosts: [...] } } in the environment "${name}"`,
    },
  ]
}

function hasPath(value: unknown, [first, ...rest]: readonly string[]): boolean {
  if (first === undefined) return value !== undefined
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, first)) return false
  return hasPath((value as Record<string, unknown>)[first], rest)
}

function ofVariables({ env, secrets, attach }: AppHere): Contradiction[] {
  const both = Object.keys(secrets).filter((name) => Object.hasOwn(env, name))
  const attached = attach.filter(({ variable }) => Object.hasOwn(env, variable))
  const given = Object.hasOwn(env, 'PORT')
    ? [
        {
          path: ['env', 'PORT'],
          message: 'PORT is given by Fairlead',
          remedy: 'write the port of a service as services.NAME.port',
        },
      ]
    : []
  return [
    ...given,
    ...both.map((name) => ({
      path: ['env', name],
      message: `"${name}" stands in env and in secrets`,
      remedy: 'keep it in one of them',
    })),
    ...attached.map(({ name, variable }) => ({
      path: ['env', variable],
      message: `"${variable}" is the variable of the database "${name}", too`,
      remedy: `write attach: { ${name}: { as: ANOTHER_NAME } }, or remove it here`,
    })),
  ]
}

function ofAttachments(
  { attach = {}, environments = {} }: AppFile,
  here: AppHere,
): Contradiction[] {
  const names = [
    ...new Set([attach, environments[here.environment]?.attach ?? {}].flatMap(Object.keys)),
  ]
  const wanted = names.filter((name) => environments[here.environment]?.attach?.[name] !== null)
  const untyped = wanted.filter((name) => !here.attach.some((each) => each.name === name))
  const byVariable = Map.groupBy(here.attach, ({ variable }) => variable)
  const services = here.services.map(({ name }) => name)
  return [
    ...here.attach
      .filter(({ name, external }) => external === undefined && services.includes(name))
      .map(({ name }) => ({
        path: ['attach', name],
        message: 'a service has this name, too',
        remedy: 'choose another name',
      })),
    ...untyped.map((name) => ({
      path: ['attach', name],
      message: 'it has no type',
      remedy: 'write for example type: postgresql',
    })),
    ...[...byVariable.values()].flatMap(([, ...others]) =>
      others.map(({ name, variable }) => ({
        path: ['attach', name],
        message: `"${variable}" is the variable of another database, too`,
        remedy: 'write as: ANOTHER_NAME',
      })),
    ),
  ]
}

function ofService(service: ServiceHere): Contradiction[] {
  const { name, hosts, schedule, volumes, instances, strategy, port, health } = service
  const at = (key: string) => ['services', name, key]
  const single = volumes.find(({ shared }) => !shared)
  const found: Contradiction[] = []
  if (schedule !== undefined && hosts.length > 0)
    found.push({
      path: at('schedule'),
      message: 'a service with a schedule has no hosts',
      remedy: 'write two services, one with hosts and one with the schedule',
    })
  if (schedule !== undefined && health !== undefined)
    found.push({
      path: at('health'),
      message: 'a service with a schedule has no health check',
      remedy: 'remove it',
    })
  if (port === undefined && !service.listens && (hosts.length > 0 || health !== undefined))
    found.push({
      path: at('port'),
      message: 'a service with hosts or a health check opens a port',
      remedy: 'write its number, or remove the key',
    })
  if (single !== undefined && instances > 1)
    found.push({
      path: at('instances'),
      message: `the volume "${single.name}" is for one instance at a time`,
      remedy: 'write instances: 1, or shared: true at the volume if its files allow it',
    })
  if (single !== undefined && strategy !== 'stop-first')
    found.push({
      path: at('strategy'),
      message: `the volume "${single.name}" is for one instance at a time, and ${strategy} runs two versions side by side`,
      remedy: 'write strategy: stop-first, or shared: true at the volume if its files allow it',
    })
  for (const key of ['name', 'path'] as const) {
    const twice = [...Map.groupBy(volumes, (volume) => volume[key]).values()].find(
      ({ length }) => length > 1,
    )
    if (twice !== undefined)
      found.push({
        path: at('volumes'),
        message: `two volumes have the ${key} "${twice[0]?.[key]}"`,
        remedy: `choose another ${key}`,
      })
  }
  return found
}

function ofHosts({ services, redirects }: AppHere): Contradiction[] {
  const places = services.flatMap(({ name, hosts }) =>
    hosts.map(({ host, path }) => ({ name, place: host + path, host })),
  )
  const twice = [...Map.groupBy(places, ({ place }) => place).values()].filter(
    ({ length }) => length > 1,
  )
  const served = new Set(places.map(({ host }) => host))
  return [
    ...twice.map((all) => ({
      path: ['services', all.at(-1)?.name ?? '', 'hosts'],
      message: `"${all[0]?.place.replace(/\/$/, '')}" stands twice`,
      remedy: 'write each host and path once',
    })),
    ...Object.keys(redirects)
      .filter((host) => served.has(host))
      .map((host) => ({
        path: ['redirect', host],
        message: `"${host}" is a host of a service, too`,
        remedy: 'keep it in one of them',
      })),
  ]
}
