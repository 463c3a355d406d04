/** Server groups and their instances in Deck: panels, actions, and the dialog that creates or clones one. */

import { asGiven, objectList, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject, scalarOf, textsOf } from '@fairlead/base/json/values.ts'
import { type Application, consoleUrl, core, from, provider, useEffect, useState } from './deck.ts'
import { confirm, openForm } from './dialogs.tsx'
import { Actions, ConsoleLink, type Named, Panel, Section, useItems } from './panel.tsx'
import { fieldsOf } from './stages.tsx'

/** A server group as `cloudProvider: local` reads it, and the form of one to create. */
type Command = JsonObject & { readonly viewState: { readonly mode: string } }

const readGroup = shape({
  isDisabled: isTrue,
  zones: textsOf,
  loadBalancers: textsOf,
  securityGroups: textsOf,
  moniker: shape({ stack: asGiven, detail: asGiven }),
  capacity: shape({ min: asGiven, max: asGiven, desired: asGiven }),
  launchConfig: shape({ imageId: asGiven, environment: asGiven, command: textsOf }),
})

const toInstances = objectList(shape({ id: asGiven }))

const readInstance = shape({
  process: shape({ pid: asGiven, phase: scalarOf }),
  health: objectList(shape({ type: String, state: scalarOf })),
  events: objectList(shape({ at: asGiven, text: scalarOf })),
})

/** Deck creates services of providers with `new`. */
export class ServerGroupTransformer {
  normalizeServerGroup(serverGroup: JsonObject): PromiseLike<JsonObject> {
    return Promise.resolve(serverGroup)
  }

  /** Turns a form into a cluster of a deploy stage, where Deck knows `account` only. */
  convertServerGroupCommandToDeployConfiguration({
    viewState: _,
    ...command
  }: Command): JsonObject {
    return {
      ...command,
      provider,
      cloudProvider: provider,
      account: command['account'] ?? command['credentials'],
    }
  }
}

export class ServerGroupCommandBuilder {
  /** @param options Null outside of pipelines. */
  buildNewServerGroupCommand(
    application: Application,
    options?: { readonly mode?: string } | null,
  ): PromiseLike<Command> {
    const mode = options?.mode ?? 'create'
    return Promise.resolve({
      application: application.name,
      account: application.defaultCredentials?.[provider] ?? '',
      region: application.defaultRegions?.[provider] ?? '',
      stack: '',
      freeFormDetails: '',
      capacity: { min: 1, max: 1, desired: 1 },
      loadBalancers: [],
      strategy: mode === 'create' ? '' : 'redblack',
      ...chosen,
      viewState: { mode },
    })
  }

  buildServerGroupCommandFromExisting(
    application: Application,
    serverGroup: JsonObject,
    mode = 'clone',
  ): PromiseLike<Command> {
    const { account, region, loadBalancers, securityGroups, instanceType } = serverGroup
    const { moniker, capacity, launchConfig } = readGroup(serverGroup)
    return Promise.resolve({
      application: application.name,
      account,
      region,
      stack: moniker.stack ?? '',
      freeFormDetails: moniker.detail ?? '',
      imageId: launchConfig.imageId,
      capacity,
      loadBalancers,
      securityGroups,
      instanceType,
      env: launchConfig.environment,
      strategy: '',
      ...chosen,
      source: { account, region, serverGroupName: serverGroup['name'] },
      viewState: { mode },
    })
  }

  buildNewServerGroupCommandForPipeline(
    _stage: JsonObject,
    pipeline: JsonObject,
  ): PromiseLike<Command> {
    const name = scalarOf(pipeline['application']) ?? ''
    return this.buildNewServerGroupCommand({ name } as Application, { mode: 'createPipeline' })
  }

  buildServerGroupCommandFromPipeline(
    _application: Application,
    cluster: JsonObject,
  ): PromiseLike<Command> {
    return Promise.resolve({ ...cluster, ...chosen, viewState: { mode: 'editPipeline' } })
  }
}

const chosen = { provider, cloudProvider: provider, selectedProvider: provider }

interface CloneProps {
  readonly title: string
  readonly application: Application
  readonly command: Command
}

/** Creates or clones a server group; for a deploy stage, it returns the form. */
export const CloneServerGroupModal = {
  show({ title, application, command }: CloneProps): Promise<unknown> {
    const { viewState, ...value } = command
    const isStage = viewState.mode.endsWith('Pipeline')
    const isClone = viewState.mode === 'clone'
    const type = isClone ? 'cloneServerGroup' : 'createServerGroup'
    const left = ['cloudProvider', 'application', 'isClone', ...(isClone ? [] : ['source'])]
    const open = openForm({
      application,
      title,
      fields: fieldsOf('createServerGroup', (name) => !left.includes(name)),
      value,
      action: isStage ? 'Done' : isClone ? 'Clone' : 'Create',
      refresh: () => application.serverGroups.refresh(true),
      ...(!isStage && {
        toJob: (form: JsonObject) => ({ ...form, type, credentials: form['account'] }),
      }),
    })
    return open.then((form) => ({ ...(form as JsonObject), viewState }))
  },
}

interface GroupProps {
  readonly app: Application
  readonly serverGroup: JsonObject
}

interface GetterProps {
  readonly app: Application
  readonly serverGroup: Named
}

/** @returns an Observable, which Deck reads again whenever the application is refreshed */
export function detailsOfServerGroup(
  { app, serverGroup: { name, accountId, region } }: GetterProps,
  close: () => void,
): unknown {
  const read = core
    .REST('/applications')
    .path(app.name, 'serverGroups', accountId, region, name)
    .get<JsonObject>()
    .then(
      (group) => ({ ...group, account: accountId }),
      () => {
        // It was destroyed: nothing is shown, and the panel goes.
        close()
        return new Promise(() => undefined)
      },
    )
  return from(read)
}

export function ServerGroupActions({ app, serverGroup }: GroupProps) {
  const account = String(serverGroup['account'])
  const { name, region, cluster } = serverGroup
  const refresh = () => app.serverGroups.refresh(true)
  const place = { credentials: account, region, regions: [region] }
  const target = { ...place, serverGroupName: name, asgName: name, cluster }
  const ask = (action: string, type: string) =>
    confirm({
      application: app,
      title: `${action} ${String(name)}`,
      action,
      account,
      refresh,
      job: { ...target, type },
    })
  const open = (
    label: string,
    type: string,
    value: JsonObject,
    isShown: (field: string) => boolean,
    toJob = (form: JsonObject) => form,
  ) =>
    openForm({
      application: app,
      title: `${label} ${String(name)}`,
      fields: fieldsOf(type, isShown),
      value,
      action: label,
      refresh,
      toJob: (form) => ({ ...target, ...toJob(form), type }),
    }).catch(() => undefined)
  const { capacity, isDisabled } = readGroup(serverGroup)
  return (
    <Actions
      label="Server Group Actions"
      actions={[
        {
          label: 'Resize',
          run: () =>
            open('Resize', 'resizeServerGroup', { capacity }, (field) => field === 'capacity'),
        },
        isDisabled
          ? { label: 'Enable', run: () => ask('Enable', 'enableServerGroup') }
          : { label: 'Disable', run: () => ask('Disable', 'disableServerGroup') },
        ...(isDisabled
          ? []
          : [
              {
                label: 'Roll back',
                run: () =>
                  open(
                    'Roll back',
                    'rollbackServerGroup',
                    {
                      rollbackType: 'EXPLICIT',
                      rollbackContext: { rollbackServerGroupName: name },
                    },
                    (field) => field.startsWith('rollback'),
                  ),
              },
            ]),
        {
          label: 'Clone',
          run: () =>
            new ServerGroupCommandBuilder()
              .buildServerGroupCommandFromExisting(app, serverGroup)
              .then((command) =>
                CloneServerGroupModal.show({
                  title: `Clone ${String(name)}`,
                  application: app,
                  command,
                }),
              )
              .then(undefined, () => undefined),
        },
        { label: 'Destroy', run: () => ask('Destroy', 'destroyServerGroup') },
      ]}
    />
  )
}

function Information({ app, serverGroup }: GroupProps) {
  const { account, region, name } = serverGroup
  const { launchConfig, capacity, ...group } = readGroup(serverGroup)
  return (
    <>
      <Section
        heading="Server Group Information"
        facts={{
          Created: core.timestamp(serverGroup['createdTime']),
          Account: <core.AccountTag account={String(account)} />,
          Region: scalarOf(region),
          Zones: group.zones.join(', '),
          Image: scalarOf(launchConfig.imageId),
          Command: launchConfig.command.join(' '),
          Type: scalarOf(serverGroup['instanceType']),
        }}
      />
      <Section
        heading="Size"
        facts={{
          Min: String(capacity.min),
          Desired: String(capacity.desired),
          Max: String(capacity.max),
        }}
      >
        <core.HealthCounts container={serverGroup['instanceCounts']} />
      </Section>
      <Section
        heading="Network"
        facts={{
          Balancers: group.loadBalancers.join(', ') || 'none',
          Firewalls: group.securityGroups.join(', ') || 'none',
        }}
      />
      <ConsoleLink
        href={consoleUrl(
          'applications',
          app.name,
          'server-groups',
          String(account),
          String(region),
          String(name),
        )}
      >
        {String(name)} in the console of Fairlead
      </ConsoleLink>
    </>
  )
}

export const serverGroupSections = [Information]

interface InstanceProps {
  readonly app: Application
  readonly instance: { readonly instanceId: string }
}

export function InstanceDetails({ app, instance: { instanceId } }: InstanceProps) {
  const groups = useItems(app, 'serverGroups')
  const group = groups?.find(({ instances }) =>
    toInstances(instances).some(({ id }) => id === instanceId),
  )
  const account = String(group?.['account'])
  const region = String(group?.['region'])
  const [instance, setInstance] = useState<JsonObject>()
  useEffect(() => {
    if (group === undefined) return
    const read = core.REST('/instances').path(account, region, instanceId).query({ provider })
    read.get<JsonObject>().then(setInstance, () => setInstance(undefined))
  }, [groups, instanceId])
  if (groups !== undefined && group === undefined)
    return <Panel title={instanceId}>The instance does not exist any more.</Panel>
  if (instance === undefined || group === undefined)
    return <Panel title={instanceId}>Loading …</Panel>
  const job = {
    credentials: account,
    region,
    serverGroupName: group['name'],
    asgName: group['name'],
    instanceIds: [instanceId],
  }
  const title = `Terminate ${instanceId}`
  const terminate = () =>
    confirm({
      application: app,
      title,
      action: 'Terminate',
      account,
      job: { ...job, type: 'terminateInstances' },
      refresh: () => app.serverGroups.refresh(true),
    })
  const { process, health, events } = readInstance(instance)
  return (
    <Panel
      title={instanceId}
      actions={
        <Actions label="Instance Actions" actions={[{ label: 'Terminate', run: terminate }]} />
      }
    >
      <Section
        heading="Instance Information"
        facts={{
          Launched: core.timestamp(instance['launchTime']),
          In: scalarOf(instance['availabilityZone']),
          Account: <core.AccountTag account={account} />,
          'Server group': scalarOf(group['name']),
          Address: `${String(instance['privateIpAddress'])}:${String(instance['port'])}`,
          Process:
            process.pid === undefined ? process.phase : `${String(process.pid)}, ${process.phase}`,
        }}
      />
      <Section
        heading="Status"
        facts={Object.fromEntries(health.map(({ type, state }) => [type, state]))}
      />
      <Section heading="Events">
        <ul>
          {events.map((event, index) => (
            <li key={String(index)}>
              {core.timestamp(event.at)}: {event.text}
            </li>
          ))}
        </ul>
      </Section>
      <ConsoleLink
        href={consoleUrl('applications', app.name, 'instances', account, region, instanceId)}
      >
        Output and files in the console of Fairlead
      </ConsoleLink>
    </Panel>
  )
}
