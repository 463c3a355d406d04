/**
 * The service behind every target: a process that answers from memory with 2 KB, 1 MB or 50 MB of JSON, or with permissions.
 *
 * Arguments: its port; how many applications it has besides, of which users may read every other one.
 */
import { createServer } from 'node:http'
import { toApplications } from './applications.ts'

const small = Buffer.from(JSON.stringify(Array.from({ length: 16 }, (_, index) => network(index))))
const large = Buffer.from(
  JSON.stringify(Array.from({ length: 8200 }, (_, index) => network(index))),
)
/** The megabyte again and again: what is measured is how it flows, not what it says. */
const repeats: Record<string, number> = { '/networks/mb1': 1, '/networks/mb50': 50 }

const applicationCount = Number(process.argv[3] ?? 0)
let listed = 0

/** The permission service's view of a user with many rights. */
const permissions = Buffer.from(
  JSON.stringify({
    name: 'admin',
    admin: false,
    accounts: names(50, 'account').map((name) => ({ name, authorizations: ['READ', 'WRITE'] })),
    applications: [
      ...names(1000, 'app').map((name) => ({ name, authorizations: ['READ', 'WRITE', 'EXECUTE'] })),
      ...names(applicationCount, 'many').map((name, index) => ({
        name,
        authorizations: index % 2 === 0 ? ['READ'] : [],
      })),
    ],
    serviceAccounts: [],
    roles: names(200, 'role').map((name) => ({ name, source: 'LDAP' })),
  }),
)

const server = createServer((request, answer) => {
  const path = (request.url ?? '').split('?')[0] ?? ''
  const count = repeats[path]
  const body = bodyOf(path)
  answer.writeHead(200, {
    'content-type': 'application/json',
    'content-length': count === undefined ? body.length : large.length * count,
  })
  if (count === undefined) answer.end(body)
  else write(count)

  function write(left: number): void {
    for (let open = true; left > 0 && open; left--) open = answer.write(large)
    if (left === 0) answer.end()
    else if (!answer.destroyed) answer.once('drain', () => write(left))
  }
})
server.keepAliveTimeout = 60_000
server.listen(Number(process.argv[2]), '127.0.0.1')
process.on('SIGTERM', () => process.exit(0))

function bodyOf(path: string): Buffer {
  if (path === '/networks/small' || path.endsWith('/serverGroupManagers')) return small
  if (path.startsWith('/authorize/')) return permissions
  if (path === '/v2/applications')
    return Buffer.from(JSON.stringify(toApplications(applicationCount, ++listed)))
  return Buffer.from(path === '/health' ? '{"status":"UP"}' : '[]')
}

function names(count: number, prefix: string): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`)
}

function network(index: number): Record<string, unknown> {
  return {
    cloudProvider: 'local',
    account: `account-${index}`,
    region: 'here',
    id: `network-${index}`,
    name: 'main',
    cidr: '10.0.0.0/8',
  }
}
