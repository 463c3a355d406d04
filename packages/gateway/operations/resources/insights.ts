/** Links from resources to the operator's tools, from the templates `insights.*`. */
import { fieldAt, type JsonObject } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import type { UpstreamCall } from '../../upstreams/upstream-call.ts'
import type { OperationRequest } from '../operation.ts'
import type { InsightLink } from '../settings.ts'
import { readObject } from '../upstream-shape.ts'

interface InsightAction {
  readonly url: string
  readonly label: string
}

type InsightVariables = readonly Readonly<Record<string, unknown>>[]

/**
 * One action per template; a template for another cloud provider is left out.
 *
 * @see docs/contracts/http.md#services; docs/contracts/infrastructure.md#reads
 */
export function toInsightActions(
  links: readonly InsightLink[],
  variables: InsightVariables,
): InsightAction[] {
  if (links.length === 0) return []
  const values = new Map(variables.flatMap((source) => Object.entries(source)))
  return links
    .filter(
      ({ cloudProvider }) =>
        cloudProvider === undefined || cloudProvider === values.get('cloudProvider'),
    )
    .map(({ url, label }) => ({ url: fill(url, values), label }))
}

/**
 * Asks for the account of the path first, then for the resource: a caller who may not read the account learns nothing.
 *
 * @throws {GatewayError} UPSTREAM_FAILED with the status of the call that failed
 */
export async function loadWithAccount(
  request: OperationRequest,
  call: UpstreamCall,
): Promise<{ account: JsonObject; resource: unknown }> {
  const account = readObject(
    await request.call('clouddriver', {
      path: pathTo`/credentials/${request.path['account'] as string}`,
    }),
    'clouddriver',
  )
  return { account, resource: await request.json('clouddriver', call) }
}

export function textFields(resource: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(resource).filter(
      (field): field is [string, string] => typeof field[1] === 'string',
    ),
  )
}

export function parseServerGroupName(name: string): { application: string; cluster: string } {
  const cluster = name.replace(/-v\d{3,6}$/, '')
  return { application: cluster.split('-', 1)[0] as string, cluster }
}

const placeholder = /\$\{\s*([A-Za-z_]\w*(?:\.\w+)*)\s*\}/g

/** An unknown name becomes the text null; a template with anything but names between its braces stays as it is. */
function fill(template: string, values: ReadonlyMap<string, unknown>): string {
  if (template.replace(placeholder, '').includes('${')) return template
  return template.replace(placeholder, (_match, path: string) => toText(find(path, values)))
}

function find(path: string, values: ReadonlyMap<string, unknown>): unknown {
  const [first = '', ...rest] = path.split('.')
  return fieldAt(values.get(first), ...rest)
}

function toText(value: unknown): string {
  if (value === undefined || value === null) return 'null'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
