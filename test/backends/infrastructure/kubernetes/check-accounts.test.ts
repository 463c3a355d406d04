/** Checks of Kubernetes accounts: which cluster answers, and which rights are missing. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { type Finding, runChecks } from '../../../../packages/base/findings/finding.ts'
import type { JsonObject } from '../../../../packages/base/json/values.ts'
import { checkAccounts } from '../../../../packages/providers/kubernetes/needed-rights.ts'
import { freePort } from '../../../support/free-port.ts'
import { type ControlPlane, startControlPlane } from '../../../support/kubernetes.ts'
import { kubernetesSettings } from '../../../support/kubernetes-infrastructure.ts'
import { createFolder, removeFolder } from '../../../support/temporary-folder.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const timeouts = { answerMs: 20_000, checkMs: 60_000 }

function examine(account: JsonObject): Promise<Finding[]> {
  return runChecks(
    checkAccounts(kubernetesSettings({ accounts: [{ name: 'k8s', ...account }] }), timeouts),
    timeouts,
  )
}

/** What the advice says to apply. */
function grantOf(findings: readonly Finding[]): string {
  return findings.at(-1)?.advice?.replace(/^[^\n]*\n/, '') ?? ''
}

async function applyGrant(t: TestContext, plane: ControlPlane, yaml: string): Promise<void> {
  const folder = createFolder('grant')
  const file = join(folder, 'grant.yaml')
  writeFileSync(file, yaml)
  t.after(async () => {
    await plane.kubectl('delete', '--ignore-not-found', '--wait=false', '-f', file)
    removeFolder(folder)
  })
  await plane.kubectl('apply', '-f', file)
}

test('an account with all rights has no problem', async (t) => {
  const plane = await startControlPlane(t)
  if (plane === undefined) return
  const [answers, rights, ...more] = await examine({ kubeconfigContents: plane.kubeconfig() })
  assert.deepEqual(more, [])
  assert.equal(answers?.subject, 'Kubernetes account k8s')
  assert.equal(answers?.tried, `ask ${plane.server} for its version`)
  assert.match(answers?.found ?? '', /^it answers as Kubernetes v1\.\d+\./)
  assert.deepEqual(
    [answers?.verdict, rights?.verdict, rights?.found],
    ['ok', 'ok', 'all that Fairlead uses'],
  )
})

test('missing rights come with YAML that grants them', async (t) => {
  const plane = await startControlPlane(t)
  if (plane === undefined) return
  const user = plane.user()
  await plane.grant(user, [
    { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] },
  ])
  const account = { kubeconfigContents: plane.kubeconfig(user) }
  const findings = await examine(account)
  assert.deepEqual(
    findings.map(({ verdict }) => verdict),
    ['ok', 'warning'],
  )
  const { found = '' } = findings[1] ?? {}
  assert.match(found, new RegExp(`^${user} lacks: .*create, patch, update, delete pods`))
  assert.match(found, /get, list, watch, create, patch, update, delete .*deployments/)
  assert.match(found, /list customresourcedefinitions/)
  await applyGrant(t, plane, grantOf(findings))
  await waitUntil(
    async () => (await examine(account)).every(({ verdict }) => verdict === 'ok'),
    'the rights',
  )
})

test('accounts with namespaces need no rights elsewhere', async (t) => {
  const plane = await startControlPlane(t)
  if (plane === undefined) return
  const user = plane.user()
  const namespaces = [await plane.namespace(), await plane.namespace()]
  const account = { kubeconfigContents: plane.kubeconfig(user), namespaces }
  const findings = await examine(account)
  assert.doesNotMatch(findings[1]?.found ?? '', /customresourcedefinitions|namespaces/)
  const granted = parseAllDocuments(grantOf(findings)).map((each) => each.toJS() as JsonObject)
  assert.deepEqual(
    granted.map(({ kind, metadata }) => [kind, (metadata as JsonObject)['namespace']]),
    namespaces.flatMap((namespace) => [
      ['Role', namespace],
      ['RoleBinding', namespace],
    ]),
  )
  await applyGrant(t, plane, grantOf(findings))
  await waitUntil(
    async () => (await examine(account)).every(({ verdict }) => verdict === 'ok'),
    'the rights',
  )
})

test('a grant keeps what was granted before', async (t) => {
  const plane = await startControlPlane(t)
  if (plane === undefined) return
  const [one, other] = [plane.user(), plane.user()]
  const namespaces = [await plane.namespace()]
  const accountOf = (user: string) => ({ kubeconfigContents: plane.kubeconfig(user), namespaces })
  for (const user of [one, other])
    await applyGrant(t, plane, grantOf(await examine(accountOf(user))))
  await waitUntil(
    async () => (await examine(accountOf(other))).every(({ verdict }) => verdict === 'ok'),
    'the rights',
  )
  assert.deepEqual(
    (await examine(accountOf(one))).map(({ verdict }) => verdict),
    ['ok', 'ok'],
  )
})

test('a cluster that does not answer is a problem', async (t) => {
  const plane = await startControlPlane(t)
  if (plane === undefined) return
  const server = `https://127.0.0.1:${await freePort()}`
  const [finding, ...more] = await examine({
    kubeconfigContents: plane.kubeconfig().replaceAll(plane.server, server),
  })
  assert.deepEqual(more, [])
  assert.deepEqual([finding?.verdict, finding?.tried], ['problem', `ask ${server} for its version`])
  assert.match(finding?.found ?? '', /ECONNREFUSED|refused/)
  assert.match(finding?.advice ?? '', /API server runs and can be reached/)
})

test('rejected credentials are a problem without the token', async (t) => {
  const plane = await startControlPlane(t)
  if (plane === undefined) return
  const token = 'not-a-token-that-is-known'
  const [finding] = await examine({
    kubeconfigContents: plane.kubeconfig().replaceAll(plane.token(), token),
  })
  assert.equal(finding?.verdict, 'problem')
  assert.match(finding?.found ?? '', /Unauthorized|401/)
  assert.ok(!JSON.stringify(finding).includes(token))
})

for (const [what, account, says] of [
  ['is no YAML', { kubeconfigContents: 'contexts: [' }, /kubeconfig/],
  ['is missing', { kubeconfigFile: '/nonexistent/kubeconfig' }, /\/nonexistent\/kubeconfig/],
  [
    'lacks the context',
    { kubeconfigContents: '{apiVersion: v1, kind: Config, contexts: []}', context: 'prod' },
    /prod/,
  ],
] as const) {
  test(`a kubeconfig that ${what} is a problem`, async () => {
    const [finding, ...more] = await examine(account)
    assert.deepEqual(more, [])
    assert.deepEqual([finding?.verdict, finding?.tried], ['problem', 'read its kubeconfig'])
    assert.match(finding?.found ?? '', says)
    assert.match(finding?.advice ?? '', /kubeconfigFile or context/)
  })
}
