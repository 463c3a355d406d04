/** Apps: from the file that a user sends to a run that deploys it, and what is known of them. */
import { definedOf, type JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { isFromAppFile } from '@fairlead/model/app-file/source.ts'
import type { Group } from '@fairlead/model/environments/running.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { Engine } from '../orchestration/engine.ts'
import { clusterOf, secretsOf } from './app-environment.ts'
import { loadPresent } from './app-objects.ts'
import { AppRecords, chooseEnvironment } from './app-records.ts'
import { isClusterPlace, scaleJob } from './compile-manifests.ts'
import { AppConnections } from './connections.ts'
import { DatabaseOrders } from './database-orders.ts'
import { AppDeployments } from './deployments.ts'
import { AppPlans } from './plans.ts'
import { stopJobs } from './run-stages.ts'
import { statusOf } from './status.ts'

interface ScaleOrder {
  readonly application: string
  readonly environment: string | undefined
  /** Numbers of instances by service. */
  readonly services: Readonly<Record<string, number>>
}

export class Apps {
  readonly deployments: AppDeployments
  readonly connections: AppConnections
  readonly databases: DatabaseOrders
  readonly #records: AppRecords
  readonly #plans: AppPlans

  constructor(context: BackendContext, engine: Engine) {
    this.#records = new AppRecords(context, engine)
    this.#plans = new AppPlans(this.#records)
    this.deployments = new AppDeployments(this.#records, this.#plans)
    this.connections = new AppConnections(this.#records, this.#plans, this.deployments)
    this.databases = new DatabaseOrders(this.#records, this.deployments)
  }

  /** @throws {PortError} 404 for an app that was not deployed by a file */
  async status(application: string, as: Caller): Promise<JsonObject> {
    const { app, stored } = await this.#records.known(application, as)
    const { infrastructure } = this.#records.context.ports
    const [groups, balancers] = await Promise.all([
      infrastructure.serverGroups(application, as),
      infrastructure.loadBalancers(application, as),
    ])
    return statusOf({
      app,
      stored,
      groups,
      balancers,
      store: this.#records.store,
      engine: this.#records.engine,
    })
  }

  /** Holds until the file has another number. @throws {PortError} 400 for a service that is not there */
  async scale({ application, environment, services }: ScaleOrder, as: Caller): Promise<JsonObject> {
    const { app } = await this.#records.known(application, as)
    const here = chooseEnvironment(app, environment)
    const file = chooseEnvironment(this.#records.fileOf(application), here.environment)
    const groups = await this.#records.context.ports.infrastructure.serverGroups(application, as)
    const changes = Object.entries(services).map(([name, instances]) => {
      const service = file.services.find((each) => each.name === name)
      if (service === undefined || service.schedule !== undefined) {
        const names = file.services.filter(({ schedule }) => schedule === undefined)
        throw new PortError(
          400,
          `${here.environment} has no service "${name}" that runs all the time, only ${names.map((each) => each.name).join(', ')}.`,
        )
      }
      const cluster = clusterOf(here, name)
      const group = groups.find(
        (each) =>
          each.cluster === cluster &&
          each.account === here.account &&
          !each.isDisabled &&
          !each.disabled,
      )
      return { name, instances, fileInstances: service.instances, group }
    })
    const place = await this.#records.placeOf(here, as)
    const jobs = changes.flatMap(({ instances, group }) => {
      if (group === undefined) return []
      return isClusterPlace(place)
        ? [scaleJob(group, instances, place)]
        : [resizeJob(group, instances)]
    })
    const task =
      jobs.length === 0
        ? undefined
        : await this.#records.submitTask(
            application,
            `Scale ${Object.keys(services).join(', ')}`,
            jobs,
            as,
          )
    for (const { name, instances, fileInstances } of changes)
      this.#records.store.keepScale(application, {
        environment: here.environment,
        service: name,
        instances,
        fileInstances,
      })
    return {
      environment: here.environment,
      task: task ?? null,
      services: changes.map(({ name, instances, group }) => ({
        name,
        before: group?.total ?? 0,
        after: instances,
      })),
    }
  }

  /** Variables of each service with their source; values of secrets are masked. */
  async variables(
    application: string,
    environment: string | undefined,
    as: Caller,
  ): Promise<JsonObject> {
    const { app } = await this.#records.known(application, as)
    const here = chooseEnvironment(app, environment)
    const { secrets } = this.#records.context.ports
    const { env: given } = chooseEnvironment(this.#records.fileOf(application), here.environment)
    const isGiven = ([name]: readonly [string, string]) => Object.hasOwn(given, name)
    const attached = Object.entries(here.env).filter((entry) => !isGiven(entry))
    return {
      environment: here.environment,
      variables: [
        ...Object.entries(here.env)
          .filter(isGiven)
          .map(([name, value]) => ({ name, value, source: 'file' })),
        ...attached.map(([name, value]) => ({
          name,
          value: value.replaceAll(/secret:(?:\{[^}]*\}|\S+)/g, '******'),
          source: 'attach',
        })),
        ...Object.entries(secretsOf(here)).map(([name, secret]) => ({
          name,
          value: '******',
          source: `secret ${secret}`,
          isSet: secrets.isSet(secret, { application, account: here.account }),
        })),
        ...['PORT', 'HOST'].map((name) => ({ name, value: null, source: 'instance' })),
      ],
    }
  }

  /** Gives the objects to the user: their marks go, and no deployment changes them any more. */
  async eject(application: string, as: Caller): Promise<JsonObject> {
    return this.#records.inTurn(application, async () => {
      await this.#records.known(application, as)
      const { ports } = this.#records.context
      const present = await loadPresent(application, ports, as)
      const marked = [...present].filter(([, object]) => isFromAppFile(object))
      for (const [key, { source: _source, appFile: _file, description, ...object }] of marked) {
        if (key.startsWith('pipeline '))
          await ports.definitions.replacePipeline(
            { ...object, id: String(object['id']) },
            { staleCheck: false },
            as,
          )
        else
          await ports.definitions.updateApplication(
            { name: application, source: null, appFile: null, ...definedOf({ description }) },
            as,
          )
      }
      this.#records.store.eject(application)
      return { application, ejected: true, objects: marked.map(([key]) => key) }
    })
  }

  /**
   * Stops all of it in a task, which also deletes the application. Volumes stay.
   *
   * @param account Given: stops only what is left there since the file names another account, and the application stays
   * @throws {PortError} 400 for an account that the file names
   */
  async remove(application: string, account: string | undefined, as: Caller): Promise<JsonObject> {
    return this.#records.inTurn(application, async () => {
      const { app } = await this.#records.known(application, as)
      if (account !== undefined && app.environments.some((here) => here.account === account))
        throw new PortError(
          400,
          `The app file of ${application} names the account ${account}. Deploy to another account first; what is left here is then stopped by this.`,
        )
      const stopped = account === undefined ? app.environments : this.#plans.formerIn(app, account)
      const jobs = await this.#records.databases.stopJobs(
        application,
        account === undefined ? {} : { account },
        as,
      )
      for (const here of stopped)
        jobs.push(...stopJobs(here, await this.#records.placeOf(here, as)))
      if (account === undefined)
        jobs.push({ type: 'deleteApplication', application: { name: application } })
      const description = `Delete ${application}${account === undefined ? '' : ` in ${account}`}`
      const task =
        jobs.length === 0
          ? undefined
          : await this.#records.submitTask(application, description, jobs, as)
      if (account === undefined) this.#records.store.forget(application)
      else
        for (const [key, { compiled }] of this.#records.store.objects(application))
          if (compiled['credentials'] === account) this.#records.store.dropObject(application, key)
      return { application, task: task ?? null }
    })
  }
}

function resizeJob({ provider, account, region, name }: Group, instances: number): JsonObject {
  return {
    type: 'resizeServerGroup',
    name: `Scale ${name} to ${instances}`,
    cloudProvider: provider,
    credentials: account,
    regions: [region],
    region,
    serverGroupName: name,
    asgName: name,
    action: 'scale_exact',
    capacity: { min: instances, max: instances, desired: instances },
  }
}
