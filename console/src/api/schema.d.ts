/** What the console uses of the API of Fairlead. Printed by `npm run docs` from the OpenAPI document; change the operations instead. */

type S = Schemas
type Any = Record<string, unknown>
/** A type for every key would have to admit those of the named fields. */
type Open<T, MayBeNull = {}> = T & { [K in keyof MayBeNull]?: MayBeNull[K] | null } & Any
interface Json<T> { content: { 'application/json': T } }
type Answer<T> = [T] extends ['none'] ? { content?: never } : Json<T>
interface Op<T, Query = {}, Status extends number = 200> { parameters: {} extends Query ? { query?: Query } : { query: Query }; responses: { [K in Status | 'default']: K extends 'default' ? Json<S['Error']> : Answer<T> } }
interface Send<Body, T, Query = {}, Status extends number = 200> extends Op<T, Query, Status> { requestBody: Json<Body> }
interface MaySend<Body, T, Query = {}, Status extends number = 200> extends Op<T, Query, Status> { requestBody?: Json<Body> }
type InPath<Path> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | InPath<Rest> : never
type Placed<Name extends string> = [Name] extends [never] ? unknown : { parameters: { path: Record<Name, string> } }
export type paths = { [Path in keyof Calls]: { [Method in keyof Calls[Path]]: Calls[Path][Method] & Placed<InPath<Path>> } }

interface Calls {
  '/applications': { get: Op<S['ApplicationAttributes'][], { account?: string; owner?: string }> }
  '/applications/{application}': { get: Op<Open<{ name: string; attributes: S['ApplicationAttributes']; clusters: { [key: string]: (Open<{ name: string }, { accountName: string; account: string; type: string; provider: string; moniker: S['Moniker']; serverGroups: unknown[]; loadBalancers: unknown[] }>)[] } }>, { expand?: boolean }> }
  '/applications/{application}/history': { get: Op<S['ApplicationAttributes'][], { limit?: number }> }
  '/applications/{application}/pipelineConfigs': { get: Op<S['Pipeline'][]> }
  '/applications/{application}/pipelineConfigs/{pipelineName}': { get: Op<S['Pipeline']> }
  '/pipelines': { post: Send<S['Pipeline'], S['SavedWithFindings'], { staleCheck?: boolean; findings?: boolean }> }
  '/pipelines/{id}': { get: Op<S['Execution']>; delete: Op<'none'> }
  '/pipelines/{application}/{pipelineName}': { delete: Op<'none'> }
  '/pipelines/start': { post: Send<S['Pipeline'], S['Ref']> }
  '/applications/{application}/pipelines': { get: Op<S['Execution'][], { limit?: number; statuses?: string; expand?: boolean }> }
  '/executions': { get: Op<S['Execution'][], { pipelineConfigIds?: string; executionIds?: string; limit?: number; statuses?: string; expand?: boolean }> }
  '/pipelines/{id}/cancel': { put: Op<'none', { reason?: string; force?: boolean }> }
  '/pipelines/{id}/pause': { put: Op<'none'> }
  '/pipelines/{id}/resume': { put: Op<'none'> }
  '/pipelines/{id}/stages/{stageId}/restart': { put: Send<Any, S['Execution']> }
  '/pipelines/{id}/stages/{stageId}': { patch: Send<S['StageUpdate'], S['Execution']> }
  '/applications/{application}/tasks': { get: Op<S['Task'][], { page?: number; limit?: number; statuses?: string }>; post: Send<S['TaskRequest'], S['Ref'] | S['SavedWithFindings'], { findings?: boolean }> }
  '/tasks/{id}': { get: Op<S['Task']> }
  '/tasks/{id}/cancel': { put: Op<'none'> }
  '/applications/{application}/clusters': { get: Op<{ [key: string]: string[] }> }
  '/applications/{application}/clusters/{account}/{clusterName}/serverGroups/{serverGroupName}/scalingActivities': { get: Op<(Open<{ startTime?: unknown; endTime?: unknown }, { description: string; cause: string; statusCode: string; progress: number; details: string }>)[], { provider?: string; region?: string }> }
  '/applications/{applicationName}/serverGroups': { get: Op<S['ServerGroup'][], { expand?: string; cloudProvider?: string; clusters?: string }> }
  '/applications/{applicationName}/serverGroups/{account}/{region}/{serverGroupName}': { get: Op<S['ServerGroup']> }
  '/instances/{account}/{region}/{instanceId}': { get: Op<S['Instance']> }
  '/instances/{account}/{region}/{instanceId}/console': { get: Op<S['ConsoleOutput'], { provider?: string; tail?: number; offset?: number; find?: string; container?: string; previous?: string }> }
  '/applications/{applicationName}/jobs': { get: Op<S['Job'][], { expand?: string }> }
  '/applications/{applicationName}/jobs/{account}/{region}/{name}': { get: Op<S['Job'], { expand?: string }> }
  '/loadBalancers': { get: Op<(Open<{ name: string }, { accounts: (Open<{ name: string }, { regions: (Open<{ name: string }, { loadBalancers: S['LoadBalancer'][] }>)[] }>)[] }>)[], { provider?: string }> }
  '/loadBalancers/{account}/{region}/{name}': { get: Op<S['LoadBalancer'][], { provider?: string }> }
  '/applications/{application}/loadBalancers': { get: Op<S['LoadBalancer'][]> }
  '/securityGroups': { get: Op<unknown, { id?: string }> }
  '/securityGroups/{account}/{region}/{name}': { get: Op<Open<{ name: string }, { id: string; type: string; cloudProvider: string; accountName: string; region: string; application: string; description: string; moniker: S['Moniker']; inboundRules: Any[]; outboundRules: Any[] }>, { provider?: string }> }
  '/instanceTypes': { get: Op<(Open<{ name: string }, { account: string; region: string }>)[]> }
  '/networks': { get: Op<{ [key: string]: (Open<{  }, { id: string; name: string; cloudProvider: string; account: string; region: string; deprecated: boolean }>)[] }> }
  '/images/find': { get: Op<S['Image'][], { provider?: string; q?: string; region?: string; account?: string; count?: number }> }
  '/bakery/options': { get: Op<(Open<{ cloudProvider: string }, { baseImages: (Open<{ id: string }, { shortDescription: string }>)[] }>)[]> }
  '/bakery/logs/{region}/{statusId}': { get: Op<string> }
  '/v2/builds': { get: Op<string[], { type?: string }> }
  '/credentials': { get: Op<S['Account'][], { expand?: boolean }> }
  '/search': { get: Op<(Open<{ pageSize: number; results: (Open<{ type: string }, { provider: string }>)[] }, { query: string; platform: string }>)[], { q?: string; type: string[]; platform?: string; pageSize?: number; page?: number }> }
  '/auth/user': { get: Op<S['CurrentUser']> }
  '/auth/user/serviceAccounts': { get: Op<string[], { application?: string }> }
  '/auth/roles/sync': { post: Op<'none'> }
  '/applications/{application}/environments': { get: Op<Open<{ declared: boolean; problem?: string; environments: S['Environment'][] }>> }
  '/applications/{application}/review': { get: Op<S['Review'], { environment?: string; execution?: string; stage?: string }> }
  '/applications/{application}/releases': { get: Op<S['Release'][]> }
  '/applications/{application}/releases/{version}': { get: Op<S['Release']> }
  '/applications/{application}/delivery': { get: Op<Open<{ sinceMs: number; untilMs: number; environment: string | null; environments: string[]; complete: boolean; figures: { deploymentFrequency: Open<{ deployments: number; title: string; text: string; definition: string }>; leadTime: Open<{ of: number; title: string; text: string; definition: string }>; changeFailureRate: Open<{ share: number | null; failed: number; of: number; title: string; text: string; definition: string }>; timeToRestore: Open<{ of: number; open: number; title: string; text: string; definition: string }> }; weeks: ({ fromMs: number; deployments: number; failed: number; leadMs: number | null; restoreMs: number | null })[]; changes: (Open<{ run: Open<{ id: string; pipeline: string }, { user: string }>; atMs: number; kind: "deployment" | "restoration"; clusters: string[]; images: string[]; labels: string[]; commit?: S['EnvironmentCommit']; build?: S['EnvironmentBuild']; leadMs?: number; failure?: string }>)[] }>, { since?: number; environment?: string }> }
  '/pipelines/{id}/release': { put: Op<Any[]> }
  '/pipelineConfigs': { get: Op<S['Pipeline'][]> }
  '/pipelineConfigs/{pipelineConfigId}/history': { get: Op<S['Pipeline'][], { limit?: number }> }
  '/actions/pipelines/reorder': { post: Send<Open<{ application: string; idsToIndices: { [key: string]: number } }>, S['Task']> }
  '/applications/{application}/findings': { get: Op<S['FindingsOfDefinition'][]>; post: Send<S['Pipeline'], S['Finding'][]> }
  '/pipelines/v2/{application}/{pipelineNameOrId}': { post: MaySend<Open<{ type?: string }, { user: string; parameters: Any; artifacts: S['Artifact'][]; notifications: S['Notification'][]; dryRun: boolean }>, { eventId: string; ref: string }, {}, 202> }
  '/applications/{application}/executions/search': { get: Op<S['Execution'][], { triggerTypes?: string; pipelineName?: string; eventId?: string; trigger?: string; triggerTimeStartBoundary?: string; triggerTimeEndBoundary?: string; user?: string; parameter?: string; text?: string; concernsMe?: boolean; statuses?: string; startIndex?: number; size?: number; expand?: boolean }> }
  '/pipelines/{id}/evaluateVariables': { post: Send<S['Variable'][], Open<{ result?: S['Variable'][] }, { detail: Any }>, { executionId?: string; requisiteStageRefIds?: string; spelVersion?: string }> }
  '/applications/{application}/tasks/judge': { post: Send<S['TaskRequest'], Open<{ engine: "embedded" | "external"; decision: "accepted" | "refused" | "depends"; objections: S['TaskFinding'][]; open: S['TaskFinding'][] }>> }
  '/projects': { get: Op<S['Project'][]> }
  '/projects/{id}': { get: Op<S['Project']> }
  '/applications/{application}/serverGroupManagers': { get: Op<S['ServerGroupManager'][]> }
  '/applications/{application}/rawResources': { get: Op<(Open<{ name: string }, { account: string; region: string; namespace: string; kind: string; apiVersion: string; displayName: string; labels: Any; moniker: S['Moniker'] }>)[]> }
  '/applications/{application}/serverGroups/{account}/{serverGroupName}/events': { get: Op<(Open<{  }, { description: string; cause: string; statusCode: string }>)[], { region: string; provider: string }> }
  '/serverGroups': { get: Op<S['ServerGroup'][], { applications?: string[]; ids?: string[]; cloudProvider?: string }> }
  '/manifests/{account}/{location}/{name}': { get: Op<S['Manifest']> }
  '/manifests/plan': { post: Send<Open<{ account: string; application: string; manifests: Any[] }, { namespaceOverride: string }>, (Open<{ account: string; namespace: string; name: string; change: "create" | "update" | "none" | "error"; fields: (Open<{ path: string; change: "added" | "changed" | "removed"; before?: unknown; after?: unknown }>)[]; message?: string }>)[]> }
  '/applications/{application}/drift': { get: Op<(Open<{ account: string; namespace: string; name: string; manager: string | null; since: string | null; deleted?: boolean; fields: string[]; changes?: (Open<{ path: string; live: unknown; wanted: unknown }>)[]; note?: string }>)[], { account?: string; location?: string }> }
  '/cloudMetrics/{cloudProvider}/{account}/{region}/{metricName}/statistics': { get: Op<Open<{  }, { unit: string; period: number; datapoints: Any[]; latest: Any }>, { startTime?: string; endTime?: string; serverGroup?: string }> }
  '/v3/builds/{buildMaster}/jobs': { get: Op<string[]> }
  '/v3/builds/{buildMaster}/build/{number}/file': { get: Op<string, { job: string; path: string }> }
  '/v3/builds/{buildMaster}/build/{number}/output': { get: Op<Open<{ log: string }>, { job: string }> }
  '/artifacts/credentials': { get: Op<(Open<{ name: string }, { types: string[] }>)[]> }
  '/': { get: Op<'none'> }
  '/auth/explain': { get: Op<S['AccessExplanation'], { operation: string; application?: string; account?: string; username?: string; roles?: string }>; post: Send<{ questions: ({ operation: string; application?: string; account?: string; username?: string; roles?: string })[] }, { explanations: S['AccessExplanation'][] }> }
  '/auth/sessions': { get: Op<S['LoginSession'][], { username?: string; limit?: number; offset?: number }>; delete: Op<'none', { username?: string }, 204> }
  '/auth/sessions/{id}': { delete: Op<'none', { username?: string }, 204> }
  '/auth/users': { get: Op<S['FormUser'][]>; post: Send<{ username: string; roles?: string[]; password?: string }, S['FormUserPassword'], {}, 201> }
  '/auth/users/{username}/password': { put: Send<{ password?: string; revokeTokens?: boolean }, S['FormUserPassword']> }
  '/auth/users/{username}/roles': { put: Send<{ roles: string[] }, S['FormUser']> }
  '/auth/users/{username}/unlock': { post: Op<'none', {}, 204> }
  '/auth/users/{username}': { delete: Op<{ revokedTokens: number }> }
  '/audit/events': { get: Op<{ events: S['AuditEvent'][]; next?: string }, { kind?: "change" | "read" | "refusal" | "login" | "logout" | "token" | "audit"; user?: string; address?: string; operation?: string; application?: string; decision?: "begun" | "allowed" | "refused" | "failed" | "interrupted"; from?: string; to?: string; limit?: number; cursor?: string }> }
  '/audit/verification': { get: Op<S['AuditVerification'], { expect?: string }> }
  '/auth/apiTokens': { get: Op<S['ApiToken'][]>; post: Send<{ name: string; principalId?: string | null; expiresAt?: string | null; readOnly?: boolean | null; applications?: string[] | null; operations?: string[] | null }, S['IssuedApiToken'], {}, 201> }
  '/auth/apiTokens/admin/users': { get: Op<S['ApiToken'][]> }
  '/auth/apiTokens/{id}/rotate': { post: MaySend<{ overlapSeconds?: number | null }, S['IssuedApiToken']> }
  '/auth/apiTokens/{id}': { delete: Op<'none', {}, 204> }
  '/applications/{application}/triggerEvents': { get: Op<S['TriggerEvent'][], { pipeline?: string; type?: string; outcome?: "started" | "nothing" | "failed"; from?: number; limit?: number; cursor?: string }> }
  '/cron/validate': { get: Op<Open<{ valid: boolean; description?: string; nextTimes?: number[]; timeZone?: string; message?: string }>, { expression: string }> }
  '/notifications/{type}/{application}': { get: Op<S['NotificationSettings']>; post: Send<S['NotificationSettings'], S['SavedWithFindings'], { findings?: boolean }> }
  '/notifications/{type}/{application}/test': { post: Send<Open<{ type: string }, { address: string; commit: string }>, Open<{ delivered: boolean }, { reason: string }>> }
  '/notifications/metadata': { get: Op<(Open<{ notificationType: string }, { parameters: Any[] }>)[]> }
  '/capabilities/expressions': { get: Op<Open<{ functions: (Open<{ name: string }, { description: string; parameters: (Open<{ name: string }, { description: string; type: string }>)[] }>)[] }>> }
  '/capabilities/stageTypes': { get: Op<Open<{ engine: "embedded" | "external"; commonFields: S['StageField'][]; stageTypes: (Open<{ type: string; label: string; group: string; description: string; use: "pipeline" | "task" | "both"; runsHere?: boolean; reason?: string; fields: S['StageField'][] }>)[] }>> }
  '/capabilities/cloudProviders': { get: Op<S['CloudProvider'][]> }
  '/capabilities/quietPeriod': { get: Op<Open<{ enabled?: boolean; inQuietPeriod?: boolean; startTime?: number; endTime?: number }>> }
  '/pubsub/subscriptions': { get: Op<(Open<{ pubsubSystem: string; subscriptionName: string }>)[]> }
  '/applications/{application}/secrets': { get: Op<S['Secret'][]> }
  '/applications/{application}/secrets/{name}': { put: Send<Open<{ value: string }, { note: string }>, S['Secret']>; delete: Op<'none'> }
  '/applications/{application}/secrets/{name}/uses': { get: Op<Open<{ name: string; version: number; running: (Open<{ place: string; version: number; count: number; isCurrent: boolean }>)[]; uses: (Open<{ version: number; isCurrent: boolean; place: string; user: string; count: number; lastTime: number }>)[] }>> }
  '/v2/canaryConfig': { get: Op<(Open<{ id?: string; name?: string; applications?: string[] }>)[], { application?: string }> }
  '/v2/canaries/credentials': { get: Op<(Open<{  }, { name: string; type: string }>)[]> }
  '/v2/canaries/canary/{canaryConfigId}': { get: Op<S['CanaryResult'], { storageAccountName?: string }> }
  '/v2/canaries/{application}/executions': { get: Op<S['CanaryResult'][], { limit: number; page?: number; statuses?: string; storageAccountName?: string }> }
  '/v2/canaries/metricSetPairList/{metricSetPairListId}': { get: Op<(Open<{ id: string; name: string }, { values: { [key: string]: unknown[] } }>)[], { storageAccountName?: string }> }
  '/version': { get: Op<{ version: string }> }
  '/health/readiness': { get: Op<S['Health']> }
  '/metrics': { get: Op<string> }
  '/doctor': { get: Op<S['Examination']> }
}

export interface Schemas {
  AccessExplanation: { operation: string; request: string; username: string; known: boolean; admin: boolean; roles: ({ name: string; source: string; from: string })[]; demands: string; decision: "allowed" | "denied" | "depends"; reasons: ({ need: string; allowed: boolean; rule: string })[]; open: string[]; optional: string[]; enforcement?: { by: "gateway" | "services" | "both"; note: string }; resources?: ({ kind: string; name: string; permissions: { [key: string]: string[] } })[] }
  Account: Open<{ name: string; type: string; permissions?: { [key: string]: string[] }; authorized: boolean; regions?: unknown }, { cloudProvider: string; environment: string; challengeDestructiveActions: boolean }>
  ApiToken: { id: string; name: string; principalId: string; createdAt: string; expiresAt?: string; lastUsedAt?: string; readOnly: boolean; applications?: string[]; operations?: string[] }
  ApplicationAttributes: Open<{ name: string }, { email: string; description: string; lastModifiedBy: string; repoType: string; repoProjectKey: string; repoSlug: string; aliases: string; cloudProviders: string; accounts: string; createTs: string; updateTs: string; permissions: Open<{ READ?: string[]; WRITE?: string[]; EXECUTE?: string[] }>; trafficGuards: (Open<{  }, { account: string; location: string; stack: string; detail: string; enabled: boolean }>)[]; environments: S['DeclaredEnvironment'][]; instancePort: number; platformHealthOnly: boolean }>
  Artifact: Open<{ type?: string }, { name: string; version: string; location: string; reference: string; uuid: string; metadata: Any }>
  AuditEvent: Open<{ sequence: number; at: string; kind: "change" | "read" | "refusal" | "login" | "logout" | "token" | "audit"; decision: "begun" | "allowed" | "refused" | "failed" | "interrupted"; user?: string; address?: string; requestId?: string; method?: string; application?: string; login?: string; token?: string; operation?: string; resource?: { [key: string]: string }; status?: number; error?: string; reason?: string; upstream?: (Open<{ service: string; status?: number }>)[]; change?: string; repeated?: number; lost?: number; previous: string; hash: string }>
  AuditVerification: { sound: boolean; records: number; first?: number; last?: { sequence: number; hash: string }; lost: number; breaks: ({ line: number; problem: string })[]; hasExpected: boolean }
  CanaryResult: Open<{  }, { complete: boolean; status: string; application: string; result: Any }>
  CloudProvider: Open<{ id: string; label: string; forms: string[]; refused: { [key: string]: string }; help: { [key: string]: string }; hasManifests?: boolean; metrics?: string[]; imagesPath?: string }>
  ConsoleOutput: Open<{ output: unknown; offset?: number; nextOffset?: number; line?: number; matches?: (Open<{ offset: number; line: number }>)[]; hasMoreMatches?: boolean }>
  CurrentUser: { username: string; email: string | null; roles: string[]; allowedAccounts: string[]; enabled: true; isAdmin: boolean; canMintApiTokens: boolean; maxUserTokenLifetimeDays?: number }
  DeclaredEnvironment: Open<{ name: string; accounts: string[]; regions?: string[]; clusters?: string[]; mayPromote?: string[]; constraints?: (Open<{ type: "judgment" | "soakTime" | "window" | "canary" | "verification"; roles?: string[]; instructions?: string; minutes?: number; days?: number[]; whitelist?: (Open<{ startHour: number; startMin?: number; endHour: number; endMin?: number }>)[]; checks?: (Open<{ type: "http" | "metric" | "logs" | "prometheus" | "command" }>)[]; rollback?: boolean; canaryConfig?: Any; trafficPercent?: number }>)[] }>
  Environment: Open<{ name: string; accounts: string[]; regions?: string[]; clusters: (Open<{ provider: string; account: string; region: string; cluster: string; serverGroups: string[]; versions: S['EnvironmentVersion'][]; health: S['EnvironmentHealth']; run?: Open<{ id: string; pipeline: string }, { user: string; atMs: number }> }, { sinceMs: number }>)[]; mayPromote?: string[]; versions: S['EnvironmentVersion'][]; health: S['EnvironmentHealth']; history: string[]; rolledBackFrom: string[]; rollback?: Open<{ from: string }, { atMs: number; to: string; user: string; reason: string; task: string; run: string }>; drift: (Open<{ account?: string; namespace?: string; name?: string; deleted?: boolean; fields?: string[]; changes?: (Open<{ path: string; live: unknown; wanted: unknown }>)[]; note?: string; text: string }, { manager: string; since: string }>)[]; warnings: string[]; promotion?: S['EnvironmentPromotion'] }, { sinceMs: number }>
  EnvironmentBuild: Open<{  }, { server: string; job: string; url: string; result: string; number: number }>
  EnvironmentCommit: Open<{ sha: string }, { branch: string; message: string; author: string; url: string; timestamp: string | number }>
  EnvironmentCondition: Open<{ type: "judgment" | "soakTime" | "window" | "canary" | "verification"; state: "met" | "waits" | "failed" | "ahead"; text: string }, { untilMs: number; run: string; stage: string; analysis: string }>
  EnvironmentHealth: Open<{ state: "up" | "degraded" | "down" | "disabled" | "empty"; up: number; total: number }>
  EnvironmentPromotion: Open<{ from: string; images: (Open<{ image: string; from: string | null; to: string }>)[]; manifests: (Open<{ name: string; change: "added" | "changed" | "removed" }>)[]; commits: S['EnvironmentCommit'][]; authors: string[]; builds: S['EnvironmentBuild'][]; note?: string; pipelines: (Open<{ id: string; name: string; promotes: boolean }>)[]; mayPromote: boolean; holds: string[]; conditions: S['EnvironmentCondition'][]; runs: (Open<{ id: string; pipeline: string; judgment?: string }, { waitsFor: string; sinceMs: number }>)[] }>
  EnvironmentVersion: Open<{ image: string; label: string; digest?: string; commit?: S['EnvironmentCommit']; build?: S['EnvironmentBuild'] }>
  Examination: { verdict: "ok" | "warning" | "problem"; publicUrl: string; addresses: ({ login: string; what: string; url: string; needed: boolean })[]; findings: ({ subject: string; verdict: "ok" | "warning" | "problem"; tried: string; found: string; advice?: string; guide?: string })[] }
  Execution: Open<{ id: string; type: "PIPELINE" | "ORCHESTRATION"; application: string; status: S['ExecutionStatus']; trigger: Open<{ type: string; payload?: unknown }, { user: string; parameters: Any; artifacts: S['Artifact'][]; notifications: S['Notification'][]; dryRun: boolean; strategy: boolean; eventId: string; parentExecution: Any }>; stages: S['Stage'][] }, { name: string; description: string; pipelineConfigId: string; canceledBy: string; cancellationReason: string; origin: string; buildTime: number; startTime: number; endTime: number; canceled: boolean; paused: Any; authentication: Open<{  }, { user: string; allowedAccounts: string[]; steeredBy: (Open<{ user: string; at: number; how: string }>)[] }>; limitConcurrent: boolean; keepWaitingPipelines: boolean; notifications: Any[]; systemNotifications: Any[]; notificationDeliveries: (Open<{ id: string; type: string; address: string; when: string; status: "waiting" | "delivered" | "failed"; attempts: number }, { stageId: string; changedTime: number; reason: string }>)[] }>
  ExecutionStatus: "NOT_STARTED" | "BUFFERED" | "RUNNING" | "PAUSED" | "SUSPENDED" | "REDIRECT" | "SUCCEEDED" | "FAILED_CONTINUE" | "SKIPPED" | "TERMINAL" | "CANCELED" | "STOPPED"
  Finding: Open<{ severity: "error" | "warning" | "note"; place: string; stage?: string; message: string; held?: true }>
  FindingsOfDefinition: Open<{ kind: string; id?: string; name?: string; findings: S['Finding'][] }>
  FormUser: { username: string; roles: string[]; isAdmin: boolean; createdAt: string; lastUsedAt?: string; tokens?: number }
  FormUserPassword: { username: string; password?: string }
  Health: { status: "UP" | "DOWN"; waitingFor?: string[]; troubles?: string[] }
  Image: Open<{  }, { imageName: string; attributes: Any; artifact: Any; accounts: string[]; repository: string; tag: string; account: string; registry: string; digest: string }>
  Instance: Open<{ name: string }, { id: string; humanReadableName: string; account: string; region: string; zone: string; serverGroup: string; cluster: string; cloudProvider: string; healthState: string; launchTime: number; health: Any[] }>
  IssuedApiToken: { id: string; name: string; principalId: string; createdAt: string; expiresAt?: string; lastUsedAt?: string; readOnly: boolean; applications?: string[]; operations?: string[]; token: string }
  Job: Open<{  }, { name: string; id: string; account: string; location: string; provider: string; jobState: string; createdTime: number; completedTime: number; completionDetails: Any }>
  LoadBalancer: Open<{  }, { name: string; account: string; region: string; type: string; cloudProvider: string; moniker: S['Moniker']; serverGroups: Any[]; instances: unknown[]; securityGroups: unknown[] }>
  LoginSession: { id: string; current: boolean; method: string; createdAt?: string; lastUsedAt: string; address?: string; userAgent?: string }
  Manifest: Open<{  }, { account: string; name: string; location: string; moniker: S['Moniker']; manifest: Any; status: Any; health: Any; artifacts: Any[]; events: Any[]; warnings: Any[] }>
  Moniker: Open<{  }, { app: string; stack: string; detail: string; cluster: string; sequence: number }>
  Notification: Open<{  }, { type: string; address: string; level: string; when: string[]; message: Any }>
  NotificationSettings: Open<{  }, { application: string; lastModifiedBy: string; lastModified: number; email: S['Notification'][]; pubsub: S['Notification'][] }>
  Parameter: Open<{ name: string; default?: unknown }, { label: string; description: string; required: boolean; options: (Open<{ value: string }>)[] }>
  Pipeline: Open<{ application: string; name: string; id?: string; variables?: unknown }, { schema: string; description: string; type: string; stages: (Open<{  }, { type: string; name: string; refId: string; requisiteStageRefIds: string[] }>)[]; triggers: (Open<{  }, { type: string; id: string; runAsUser: string; source: string; cronExpression: string; enabled: boolean; expectedArtifactIds: string[] }>)[]; parameterConfig: S['Parameter'][]; expectedArtifacts: (Open<{ id?: string }, { displayName: string; matchArtifact: S['Artifact'] }>)[]; notifications: S['Notification'][]; index: number; disabled: boolean; limitConcurrent: boolean; keepWaitingPipelines: boolean; strategy: boolean; template: Any; updateTs: string; lastModifiedBy: string }>
  Project: Open<{ id?: string; name: string }, { email: string; lastModifiedBy: string; config: Open<{  }, { applications: string[]; clusters: (Open<{ account: string }, { stack: string; detail: string; applications: string[] }>)[]; pipelineConfigs: (Open<{ application: string; pipelineConfigId: string }>)[] }>; createTs: number; updateTs: number }>
  Ref: Open<{ ref: string }>
  Release: Open<{ version: string; images: string[]; commit?: S['EnvironmentCommit']; build?: S['EnvironmentBuild']; tests?: string; failure?: string; serves: string[]; events: (Open<{ kind: "build" | "deployment" | "judgment" | "canary" | "rollback"; text: string; state: "good" | "failed" | "active" }, { atMs: number; environment: string; user: string; comment: string; run: string; stage: string; task: string; analysis: string }>)[] }, { atMs: number }>
  Review: Open<{ changes: (Open<{ environment: string; image: string; from: string | null; to: string }>)[]; manifests: (Open<{ name: string; change: string }>)[]; commits: S['EnvironmentCommit'][]; authors: string[]; builds: S['EnvironmentBuild'][]; note?: string; settings: string[]; conditions: S['EnvironmentCondition'][]; holds: string[]; next: string[]; onFailure: string; unknown: string[]; accounts?: string[]; sources?: string[]; mayPromote?: boolean; runs?: (Open<{ id: string; pipeline: string }>)[]; pipelines: (Open<{ id: string; name: string; promotes: boolean }>)[]; judgment?: Open<{ execution: string; stage: string; pipeline: string; name: string; inputs: string[]; roles: string[] }, { instructions: string; user: string; sinceMs: number }> }, { from: string; to: string }>
  SavedWithFindings: Open<{ findings: S['Finding'][]; saved?: unknown }>
  Secret: Open<{ name: string; scope: "application" | "account"; owner: string; version: number; setTime: number; setBy: string }, { note: string; lastUseTime: number; isMasked: boolean }>
  ServerGroup: Open<{ name: string; region: string }, { account: string; type: string; cloudProvider: string; cluster: string; application: string; instanceType: string; moniker: S['Moniker']; createdTime: number; isDisabled: boolean; disabled: boolean; capacity: Open<{  }, { min: number; max: number; desired: number; pinned: boolean }>; instanceCounts: Open<{  }, { total: number; up: number; down: number; unknown: number; starting: number }>; instances: S['Instance'][]; loadBalancers: unknown[]; securityGroups: unknown[]; buildInfo: Any; image: Any; launchConfig: Any; labels: Any; serverGroupManagers: Any[] }>
  ServerGroupManager: Open<{ name: string }, { account: string; region: string; namespace: string; kind: string; moniker: S['Moniker']; serverGroups: Any[] }>
  Stage: Open<{ id: string; type: string; status: S['ExecutionStatus']; context: Any; outputs: Any; tasks: S['TaskStep'][] }, { refId: string; name: string; parentStageId: string; startTime: number; endTime: number; requisiteStageRefIds: string[]; syntheticStageOwner: "STAGE_BEFORE" | "STAGE_AFTER"; lastModified: Any }>
  StageField: Open<{ name: string; kind: string; required: boolean; default?: unknown; choices?: string[]; onlyChoices: boolean; form?: "duration"; range?: Open<{ from?: number; to?: number; above?: number }>; choicesFrom?: string; help: string; expression: boolean; otherNames?: string[]; fields?: Any[] }>
  StageUpdate: Open<{ judgmentStatus?: string; judgmentInput?: string; judgmentComment?: string; skipRemainingWait?: boolean; manualSkip?: boolean }>
  Task: Open<{ id: string; application: string; status: S['ExecutionStatus']; steps: S['TaskStep'][]; variables: (Open<{ key: string; value: unknown }>)[] }, { name: string; buildTime: number; startTime: number; endTime: number; execution: S['Execution'] }>
  TaskFinding: Open<{ job?: number; stage?: string; field?: string; message: string }>
  TaskRequest: Open<{ application: string; description: string; job: (Open<{ type: string; user?: string; reason?: string }>)[] }>
  TaskStep: Open<{ id: string; name: string; status: S['ExecutionStatus'] }, { startTime: number; endTime: number; taskExceptionDetails: Any }>
  TriggerEvent: Open<{ id: string; time: number; type: string; source: string; outcome: "started" | "nothing" | "failed"; summary: Any; triggers: (Open<{ application: string; pipelineId: string; pipeline: string; trigger: string }, { executionId: string; reason: string }>)[] }, { payload: Any; reason: string }>
  Variable: Open<{ key: string; value: unknown; description?: string }>
}
