/** Orders for databases of apps, by the app file that was deployed. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { AppRecords } from './app-records.ts'
import type { AppDeployments } from './deployments.ts'

interface AppDatabaseOrder {
  readonly application: string
  readonly environment: string | undefined
  readonly name: string
}

export class DatabaseOrders {
  readonly #records: AppRecords
  readonly #deployments: AppDeployments

  constructor(records: AppRecords, deployments: AppDeployments) {
    this.#records = records
    this.#deployments = deployments
  }

  /** Databases of an app that was deployed. */
  async list(application: string, as: Caller): Promise<JsonObject> {
    const { app } = await this.#records.known(application, as)
    return { application, databases: await this.#records.databases.list(app, as) }
  }

  async backUp(order: AppDatabaseOrder, as: Caller): Promise<JsonObject> {
    return this.#records.databases.backUp(await this.#databaseOf(order, as), as)
  }

  /** @throws {PortError} 400 unless the application is named once more */
  async restore(
    {
      from,
      confirm,
      ...order
    }: AppDatabaseOrder & {
      readonly from: string | undefined
      readonly confirm: string | undefined
    },
    as: Caller,
  ): Promise<JsonObject> {
    requireConfirmation(confirm, order.application, 'replaces what is in the database')
    return this.#records.databases.restore({ ...(await this.#databaseOf(order, as)), from }, as)
  }

  async upgrade(
    { to, ...order }: AppDatabaseOrder & { readonly to: string | undefined },
    as: Caller,
  ): Promise<JsonObject> {
    const { databases } = this.#records
    return databases.upgrade({ ...(await this.#databaseOf(order, as)), to }, as)
  }

  async rotate(order: AppDatabaseOrder, as: Caller): Promise<JsonObject> {
    return this.#deployments.rotatePassword(await this.#databaseOf(order, as), as)
  }

  /** @throws {PortError} 400 unless the database is named once more, and while the file has it */
  async remove(
    { confirm, ...order }: AppDatabaseOrder & { readonly confirm: string | undefined },
    as: Caller,
  ): Promise<JsonObject> {
    const { application, name } = order
    requireConfirmation(confirm, name, 'deletes what is in the database')
    return this.#records.inTurn(application, async () => {
      const wanted = await this.#databaseOf(order, as)
      const { app } = await this.#records.known(application, as)
      const here = app.environments.find((each) => each.environment === wanted.environment)
      if (here?.attach.some((each) => each.name === name))
        throw new PortError(
          400,
          `The app file attaches ${name} to ${wanted.environment}, so a deployment would create it anew. Remove it from attach, deploy, and repeat this.`,
        )
      return this.#records.databases.remove(wanted, as)
    })
  }

  /** In the first environment of the file where none is named. */
  async #databaseOf({ application, environment, name }: AppDatabaseOrder, as: Caller) {
    const { app } = await this.#records.known(application, as)
    const first = environment ?? app.environments[0]?.environment ?? ''
    return { application, environment: first, name }
  }
}

/** @throws {PortError} 400 */
function requireConfirmation(given: string | undefined, wanted: string, what: string): void {
  if (given !== undefined && given === wanted) return
  throw new PortError(400, `This ${what}: repeat the name "${wanted}" in "confirm".`)
}
