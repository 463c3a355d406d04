/** The settings of operations. */

/** A link template of `insights.*`: `${name}` is filled from the resource, unknown names become the text null. */
export interface InsightLink {
  readonly url: string
  readonly label: string
  readonly cloudProvider?: string
}

export interface OperationSettings {
  /** Address of the web UI, `services.deck.baseUrl`. */
  readonly uiUrl: string
  /** No web UI is configured, and the embedded back ends include none: its default address leads nowhere. */
  readonly uiUnknown: boolean
  /** `services.deck.redirectHostPattern`, already translated to this runtime. */
  readonly uiHostPattern: RegExp | undefined
  /** `console.enabled`. */
  readonly servesConsole: boolean
  /** Default of the execution list, `gate.execution.fetch.limit`. */
  readonly executionLimit: number
  /** `task-service.*`: how often and how far apart a task that changes a definition is asked for its end. */
  readonly taskPolls: number
  readonly taskPollIntervalMs: number
  /** `controller.pipeline.bulksave.*`. */
  readonly bulkSavePolls: number
  readonly bulkSavePollIntervalMs: number
  readonly insights: {
    readonly serverGroup: readonly InsightLink[]
    readonly instance: readonly InsightLink[]
    readonly loadBalancer: readonly InsightLink[]
    readonly job: readonly InsightLink[]
  }
  /** `services.rosco.defaults.bakeOptions`, answered while rosco is off or overridden. */
  readonly bakeOptions: readonly unknown[]
  readonly useDefaultBakeOptions: boolean
}
