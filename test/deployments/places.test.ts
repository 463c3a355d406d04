/** Load balancers, security groups and jobs through the whole gateway. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at } from '../backends/orchestration/support.ts'
import {
  balancer,
  creation,
  type Deployments,
  errorOf,
  sized,
  startDeployments,
  visit,
} from '../support/deployments.ts'
import { freePort } from '../support/free-port.ts'

const cases: Record<string, (fleet: Deployments) => Promise<void>> = {
  async 'infrastructure-scenario 160: single instances leave a load balancer and return'(fleet) {
    const name = 'shop-single'
    await fleet.balance(name)
    const group = await fleet.deploy('single', { loadBalancers: [name], capacity: sized(2) })
    const [one] = (await fleet.group(group))?.instances ?? []
    const statesOf = async () => {
      const { instances = [] } = (await fleet.group(group)) ?? {}
      return instances
        .map(({ id, health }) => [
          id === one?.id,
          health.find(({ type }) => type === 'LoadBalancer')?.state,
        ])
        .sort()
    }
    const job = { instanceIds: [one?.id], loadBalancerNames: [name] }
    await fleet.run({ type: 'deregisterInstancesFromLoadBalancer', ...job })
    assert.deepEqual(await statesOf(), [
      [false, 'Up'],
      [true, 'OutOfService'],
    ])
    await fleet.run({ type: 'registerInstancesWithLoadBalancer', ...job })
    assert.deepEqual(await statesOf(), [
      [false, 'Up'],
      [true, 'Up'],
    ])
  },

  async 'infrastructure-scenario 161 and 162: a load balancer opens its port and closes it'(fleet) {
    const port = await freePort()
    const view = await fleet.run(balancer('shop-new', port))
    assert.ok(typeof view.variables.find(({ key }) => key === 'dnsName')?.value === 'string')
    assert.equal((await fleet.ask('GET', '/loadBalancers/shop-new?provider=local')).status, 200)
    assert.equal((await visit(port)).status, 503)
    await fleet.run({ type: 'deleteLoadBalancer', loadBalancerName: 'shop-new', regions: ['east'] })
    assert.equal((await fleet.ask('GET', '/loadBalancers/shop-new?provider=local')).status, 404)
    await assert.rejects(visit(port))
  },

  async 'infrastructure-scenario 163 and 164: rules of security groups are added, replaced, kept while used'(
    fleet,
  ) {
    const upsert = (name: string, more: Record<string, unknown>) =>
      fleet.run({ type: 'upsertSecurityGroup', name, description: 'd', ...more })
    const ingress = (cidr: string, port: number) => ({
      cidr,
      startPort: port,
      endPort: port,
      type: 'tcp',
    })
    const rulesOf = async (name: string) => {
      const { inboundRules } = await fleet.read<{ inboundRules: unknown[] }>(
        `/securityGroups/dev/east/${name}?provider=local`,
      )
      return inboundRules
        .map((rule) => `${at(rule, 'range', 'ip')}${at(rule, 'range', 'cidr')}`)
        .sort()
    }
    await upsert('shop-fw2', { ipIngress: [ingress('10.1.0.0/16', 80)] })
    await upsert('shop-fw2', { ipIngress: [ingress('10.2.0.0/16', 81)], ingressAppendOnly: true })
    assert.deepEqual(await rulesOf('shop-fw2'), ['10.1.0.0/16', '10.2.0.0/16'])
    await upsert('shop-fw2', { ipIngress: [ingress('10.3.0.0/16', 82)] })
    assert.deepEqual(await rulesOf('shop-fw2'), ['10.3.0.0/16'])
    await upsert('shop-fw3', {
      securityGroupIngress: [{ name: 'shop-fw2', startPort: 80, endPort: 80, type: 'tcp' }],
    })
    const remove = (name: string) => ({
      type: 'deleteSecurityGroup',
      securityGroupName: name,
      regions: ['east'],
    })
    assert.match(errorOf(await fleet.run(remove('shop-fw2'), 'TERMINAL')), /shop-fw3/)
    await fleet.run(remove('shop-fw3'))
    await fleet.run(remove('shop-fw2'))
    assert.equal(
      (await fleet.ask('GET', '/securityGroups/dev/east/shop-fw2?provider=local')).status,
      404,
    )
  },

  async 'infrastructure-scenario 165: a job ends with the exit code of its command'(fleet) {
    const failed = await fleet.run({ type: 'runJob', command: 'echo to do; exit 3' }, 'TERMINAL')
    assert.match(errorOf(failed), /exit code 3/)
    const jobs = at(failed, 'execution', 'stages', 0, 'context', 'deploy.jobs', 'east') as string[]
    const { jobState, completionDetails } = await fleet.read(
      `/applications/shop/jobs/dev/east/${jobs[0]}`,
    )
    assert.equal(jobState, 'Failed')
    assert.equal(String(at(completionDetails, 'exitCode')), '3')
    const command = 'echo "answer=42" > out.properties'
    const done = await fleet.run({
      type: 'runJob',
      command,
      waitForCompletion: true,
      propertyFile: 'out.properties',
    })
    assert.equal(at(done, 'execution', 'stages', 0, 'outputs', 'answer'), '42')
  },

  async 'infrastructure-scenario 166: a repeated request is one task'(fleet) {
    const createServerGroup = {
      ...creation('twice', { capacity: sized(0) }),
      credentials: 'dev',
      region: 'east',
    }
    const answers = [
      await fleet.operate('once', { createServerGroup }),
      await fleet.operate('once', { createServerGroup }),
    ]
    assert.deepEqual(answers[1], answers[0])
    await fleet.deploy('twice', { capacity: sized(0) })
    assert.deepEqual(await fleet.cluster('shop-twice'), ['shop-twice-v000', 'shop-twice-v001'])
  },
}

test('load balancers, security groups and jobs are real', { concurrency: 3 }, async (t) => {
  const fleet = await startDeployments(t)
  await Promise.all(Object.entries(cases).map(([title, run]) => t.test(title, () => run(fleet))))
})
