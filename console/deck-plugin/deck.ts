/**
 * What Deck shares with its plug-ins at run time, and the few shapes of it that are used here.
 *
 * JSX calls `createElement` of this file, so that elements belong to the React of Deck; its types are those of preact.
 */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { ComponentType } from 'preact'
import type * as hooks from 'preact/hooks'

/** Deck waits with `then` only: some of its promises are those of AngularJS. */
type Later<T> = PromiseLike<T>

interface Request {
  path(...segments: string[]): Request
  query(parameters: JsonObject): Request
  get<T>(): Later<T>
}

export interface DataSource<T = JsonObject> {
  readonly data: readonly T[]
  ready(): Later<unknown>
  refresh(force?: boolean): unknown
  /** @returns what ends it */
  onRefresh(scope: null, listener: () => void): () => void
}

/** An application, as pages of Deck receive it. */
export interface Application {
  readonly name: string
  readonly defaultCredentials?: Readonly<Record<string, string>>
  readonly defaultRegions?: Readonly<Record<string, string>>
  readonly serverGroups: DataSource
  readonly loadBalancers: DataSource
  readonly securityGroups: DataSource
}

export interface StageType {
  readonly key?: string
  readonly provides?: string
  readonly [name: string]: unknown
}

export interface TaskMonitor {
  submit(start: () => Later<unknown>): void
}

interface Core {
  readonly SETTINGS: { readonly gateUrl: string; readonly providers: Record<string, unknown> }
  readonly CloudProviderRegistry: { registerProvider(id: string, provider: JsonObject): void }
  readonly DeploymentStrategyRegistry: {
    registerProvider(id: string, strategies: readonly string[]): void
  }
  readonly Registry: {
    readonly pipeline: {
      getStageTypes(): readonly StageType[]
      registerStage(type: StageType): void
    }
  }
  readonly REST: (path: string) => Request
  readonly TaskExecutor: {
    executeTask(task: {
      application: Application
      description: string
      job: readonly JsonObject[]
    }): Later<unknown>
  }
  readonly TaskMonitor: {
    new (config: JsonObject): TaskMonitor
    /** Until 2025. */
    modalInstanceEmulation?(close: () => void): unknown
  }
  readonly ConfirmationModalService: { confirm(options: JsonObject): unknown }
  readonly ReactModal: {
    show(component: unknown, props: object, modal?: JsonObject): Promise<unknown>
  }
  readonly timestamp: (ms: unknown) => string
  readonly ExecutionDetailsTasks: unknown
  readonly AccountTag: ComponentType<{ account: string }>
  readonly CloudProviderLogo: ComponentType<{ provider: string; height: string; width: string }>
  readonly CollapsibleSection: ComponentType<{ heading: string; defaultExpanded?: boolean }>
  readonly ExecutionDetailsSection: ComponentType<{ name: string; current: string }>
  readonly HealthCounts: ComponentType<{ container: unknown }>
  readonly ModalClose: ComponentType<{ dismiss: () => void }>
  readonly TaskMonitorWrapper: ComponentType<{ monitor: TaskMonitor }>
}

interface SharedLibraries {
  readonly react: typeof hooks & { readonly createElement: unknown; readonly Fragment: unknown }
  readonly rxjs: { from(promise: PromiseLike<unknown>): unknown }
  readonly _spinnaker_core: Core
  readonly _uirouter_react: { readonly UISref: ComponentType<{ to: string; params?: JsonObject }> }
}

declare global {
  interface Window {
    readonly spinnaker: { readonly plugins: { readonly sharedLibraries: SharedLibraries } }
  }
}

const { react, rxjs, _spinnaker_core, _uirouter_react } = window.spinnaker.plugins.sharedLibraries

export const { createElement, Fragment, useEffect, useState } = react
export const { from } = rxjs
export const { UISref } = _uirouter_react
export const core = _spinnaker_core

export const provider = 'local'

/** Submits operations on this machine as one task; users follow it in the dialog that `monitor` belongs to. */
export function submit(
  application: Application,
  description: string,
  job: JsonObject,
): Later<unknown> {
  return core.TaskExecutor.executeTask({
    application,
    description,
    job: [{ cloudProvider: provider, ...job }],
  })
}

/** Address of a page of Fairlead's console about a thing of an application. */
export function consoleUrl(...segments: readonly string[]): string {
  return `${core.SETTINGS.gateUrl}/console/${segments.map(encodeURIComponent).join('/')}`
}
