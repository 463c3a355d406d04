/** The services behind a gateway, answering as those did when the calls of Gate were recorded. */
import { brokenOff, type RecordedRequest, Reply } from '../support/upstream.ts'

const pipeline = {
  application: 'web',
  id: 'P1',
  index: 0,
  lastModifiedBy: 'ann',
  name: 'deploy',
  parameterConfig: [],
  stages: [],
  triggers: [],
  updateTs: '1700000000000',
}
const account = { name: 'prod', type: 'aws', cloudProvider: 'aws', permissions: {} }
const application = { name: 'web', email: 'ann@example.test' }
const cluster = { name: 'web-main', serverGroups: [{ name: 'web-main-v001', region: 'us-east-1' }] }

const answers: Readonly<Record<string, unknown>> = {
  'fiat GET /authorize/ann': {
    name: 'ann',
    admin: false,
    accounts: [{ name: 'prod', authorizations: ['READ', 'WRITE'] }],
    applications: [
      { name: 'web', authorizations: ['READ', 'WRITE', 'EXECUTE', 'CREATE'] },
      { name: 'ro', authorizations: ['READ'] },
    ],
  },
  'clouddriver GET /credentials': [account],
  'clouddriver GET /credentials/prod': account,
  'clouddriver GET /applications': [application],
  'clouddriver GET /applications/web': { name: 'web', attributes: {}, clusters: {} },
  'clouddriver GET /applications/web/clusters/prod/web-main': [cluster],
  'front50 GET /v2/applications': [application],
  'front50 GET /v2/applications/web': application,
  'front50 GET /v2/applications/web.json': application,
  'front50 GET /pipelines/P1/get': pipeline,
  'front50 GET /pipelines/web': [pipeline],
  'front50 GET /strategies/web': [{ name: 'roll' }],
  'igor GET /redirected': [],
  'orca POST /ops': { ref: '/tasks/T1' },
  'orca POST /orchestrate': { ref: '/pipelines/E1' },
  'orca GET /tasks/T1': { id: 'T1', application: 'web', status: 'SUCCEEDED', variables: [] },
  'orca GET /pipelines/E1': { id: 'E1', application: 'web', name: 'deploy', status: 'RUNNING' },
  'rosco GET /api/v1/us-east-1/logs/ST1': { logsContent: 'baked' },
}
const present = /^front50 GET \/pipelines\/\w+\/name\/(?:deploy|a%20b)$/
const absent =
  /\/(?:nope|gone|GONE|redirected|applications\/(?:ro|secret|web\.json)|proj\/\w+)$|^front50 GET \/pipelines\/(?:\w+\/name\/.*|evaluateExpression\/get|E1|ro|secret)$/
/** What the gateway passes on as a list. */
const list =
  /^igor GET \/(?:(?:jobs\/[\w-]+|builds\/all\/.*)|masters|\w+\/accounts|.*\/teams)$|^clouddriver GET \/(?:applications\/\S+\/clusters\/\S+(?<!\/target\/\w+)|\w+\/images\/.*|\w+\/loadBalancers\/\S+\/\S+|(?:networks|subnets|certificates|search)\/.*|cloudMetrics\/.*|.*\/(?:alarms|names))$|\/(?:search|builds|instanceTypes|bakeOptions|keyPairs|functions|certificates|storage|tags|find|tasks|history|pipelines|strategies|projects|pipelineTemplates|loadBalancers|serverGroups|serverGroupManagers|rawResources|credentials|preconfigured|subscriptions|deploymentMonitors|serviceAccounts)$|^(?:front50|orca) GET \/(?:pipelines|strategies)\/[\w-]+$/

/** Answers a request; a name such as `up-503` in it is the answer that it wants. */
export function answerBesideGate({ method, path, query, body }: RecordedRequest): unknown {
  const [, service = '', ...rest] = path.split('/')
  const call = `${service} ${method} /${rest.join('/')}`
  const isList = list.test(call) && !call.startsWith('orca GET /pipelines/')
  const wanted = /\bup-([\w-]+)/.exec(`${path}?${query} ${body}`)?.[1]
  if (wanted !== undefined) return toWanted(wanted, service, isList)
  if (Object.hasOwn(answers, call)) return answers[call]
  if (present.test(call)) return pipeline
  return absent.test(call) ? new Reply(404, { message: 'It is not here.' }) : isList ? [] : {}
}

function toWanted(wanted: string, service: string, isList: boolean): unknown {
  if (wanted === 'reset') return brokenOff
  const [status = '', form = ''] = wanted.split('-')
  const bodies = new Map<string, unknown>([
    ['empty', undefined],
    ['bad', '{"a":'],
    ['null', 'null'],
    ['string', '"text"'],
    ['array', []],
    ['numbers', [1, 2]],
    ['object', {}],
    ['html', '<p>text</p>'],
    ['text', 'text'],
    ['unicode', ['é😀']],
    ['latin', Buffer.from('["\xe9"]', 'latin1')],
    ['gzip', []],
  ])
  const body = bodies.has(form) ? bodies.get(form) : isList ? [] : {}
  const headers = status === '302' ? { location: `/${service}/redirected` } : undefined
  return new Reply(Number(status) || 200, body, headers)
}
