/** The bakery: base images to bake from, and the logs of bakes. */
import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import { escapeHtml } from '../../http/page.ts'
import { parseAccept } from '../../http/parse-accept.ts'
import { textModel } from '../../json/schemas.ts'
import { isObject } from '../../json/values.ts'
import { pathTo } from '../../net/encode-path.ts'
import { get } from '../declare.ts'
import { demandsNothing, sharedKnowledge } from '../demands.ts'
import { BakeOptions } from '../models/builds.ts'
import { DirectAnswer, type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { readObject } from '../upstream-shape.ts'

export const bakeryOperations: Operation[] = [
  get('bakeOptionsUsingGET1', '/bakery/options', {
    core: true,
    demands: sharedKnowledge,
    summary: 'List bake options',
    description: 'Base images of all cloud providers; those of the configuration while the bakery is off or overridden.',
    handle: listOptions,
    answer: z.array(BakeOptions),
  }),
  get('bakeOptionsUsingGET', '/bakery/options/{cloudProvider}', {
    core: true,
    demands: sharedKnowledge,
    summary: 'Get bake options of a provider',
    description: 'Base images of one cloud provider.',
    handle: optionsOfProvider,
    answer: BakeOptions,
    errors: { 400: 'The bakery is off and the configuration has no base images of that provider.' },
  }),
  get('lookupLogsUsingGET', '/bakery/logs/{region}/{statusId}', {
    core: true,
    demands: demandsNothing(
      'the embedded bakery demands READ on the account of the bake; another one shows its logs to all users',
      'reads',
    ),
    summary: 'Get the log of a bake',
    description: 'The log of a bake, as preformatted text: a JSON string, or a page with `Accept: text/html`.',
    handle: loadLogs,
    answer: textModel,
    errors: { 400: 'The bakery is off.', 404: 'The bake has no log.' },
  }),
]

async function listOptions(_request: OperationRequest, { upstreams, settings }: Platform): Promise<unknown> {
  const isAsked = upstreams.isEnabled('rosco') && !settings.useDefaultBakeOptions
  return isAsked ? new StreamedAnswer('rosco', { path: '/bakeOptions' }) : settings.bakeOptions
}

async function optionsOfProvider(request: OperationRequest, { upstreams, settings }: Platform): Promise<unknown> {
  const provider = request.path['cloudProvider'] as string
  if (upstreams.isEnabled('rosco')) return new StreamedAnswer('rosco', { path: pathTo`/bakeOptions/${provider}` })
  const options = settings.bakeOptions.find((option) => isObject(option) && option['cloudProvider'] === provider)
  if (options !== undefined) return options
  throw new GatewayError('BAD_ARGUMENT', `The bakery is off, and the configuration has no base images for "${provider}".`)
}

async function loadLogs(request: OperationRequest, { upstreams }: Platform): Promise<unknown> {
  if (!upstreams.isEnabled('rosco')) throw new GatewayError('BAD_ARGUMENT', 'The bakery is off: there are no logs of bakes.')
  const { region = '', statusId = '' } = request.path
  const log = readObject(
    await request.call('rosco', { path: pathTo`/api/v1/${region}/logs/${statusId}`, location: region }),
    'rosco',
  )
  const content = log['logsContent']
  if (typeof content !== 'string') throw new GatewayError('NOT_FOUND', `The bake "${statusId}" has no log.`)
  const accept = request.headers.accept
  if (parseAccept(accept, ['json', 'yaml', 'text']) !== 'text') return `<pre>${content}</pre>`
  // As a page of the gateway's own address, the log of a stranger's build must not become markup.
  return /text\/html/i.test(accept ?? '')
    ? new DirectAnswer(200, `<pre>${escapeHtml(content)}</pre>`, { 'content-type': 'text/html; charset=utf-8' })
    : new DirectAnswer(200, `<pre>${content}</pre>`, { 'content-type': 'text/plain; charset=utf-8' })
}
