/** What the console uses of the API of Fairlead. Printed by `npm run docs` from the OpenAPI document; change the operations instead. */

type S = components['schemas']
type Any = Record<string, unknown>
/** A type for every key would have to admit those of the named fields. */
type Open<T> = T & Any
interface Json<T> { content: { 'application/json': T } }
type Answer<T> = [T] extends ['none'] ? { content?: never } : Json<T>
interface Op<Query, T, Status extends number = 200> { parameters: {} extends Query ? { query?: Query } : { query: Query }; responses: { [K in Status | 'default']: K extends 'default' ? Json<S['Error']> : Answer<T> } }
interface Send<Query, Body, T, Status extends number = 200> extends Op<Query, T, Status> { requestBody: Json<Body> }
interface MaySend<Query, Body, T, Status extends number = 200> extends Op<Query, T, Status> { requestBody?: Json<Body> }
type InPath<Path> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | InPath<Rest> : never
type Placed<Name extends string> = [Name] extends [never] ? unknown : { parameters: { path: Record<Name, string> } }
export type paths = { [Path in keyof Calls]: { [Method in keyof Calls[Path]]: Calls[Path][Method] & Placed<InPath<Path>> } }

interface Calls {
  '/applications': { get: Op<{ account?: string; owner?: string }, S['ApplicationAttributes'][]> }
  '/applications/{application}': { get: Op<{ expand?: boolean }, S['Application']> }
  '/applications/{application}/history': { get: Op<{ limit?: number }, S['ApplicationAttributes'][]> }
  '/applications/{application}/pipelineConfigs': { get: Op<{}, S['Pipeline'][]> }
  '/applications/{application}/pipelineConfigs/{pipelineName}': { get: Op<{}, S['Pipeline']> }
  '/pipelines': { post: Send<{ staleCheck?: boolean; findings?: boolean }, S['Pipeline'], S['SavedWithFindings']> }
  '/pipelines/{id}': { get: Op<{}, S['Execution']>; delete: Op<{}, 'none'> }
  '/pipelines/{application}/{pipelineName}': { delete: Op<{}, 'none'> }
  '/pipelines/start': { post: Send<{}, S['Pipeline'], S['Ref']> }
  '/applications/{application}/pipelines': { get: Op<{ limit?: number; statuses?: string; expand?: boolean }, S['Execution'][]> }
  '/executions': { get: Op<{ pipelineConfigIds?: string; executionIds?: string; limit?: number; statuses?: string; expand?: boolean }, S['Execution'][]> }
  '/pipelines/{id}/cancel': { put: Op<{ reason?: string; force?: boolean }, 'none'> }
  '/pipelines/{id}/pause': { put: Op<{}, 'none'> }
  '/pipelines/{id}/resume': { put: Op<{}, 'none'> }
  '/pipelines/{id}/stages/{stageId}/restart': { put: Send<{}, S['AnyObject'], S['Execution']> }
  '/pipelines/{id}/stages/{stageId}': { patch: Send<{}, S['StageUpdate'], S['Execution']> }
  '/applications/{application}/tasks': { get: Op<{ page?: number; limit?: number; statuses?: string }, S['Task'][]>; post: Send<{ findings?: boolean }, S['TaskRequest'], S['Ref'] | S['SavedWithFindings']> }
  '/tasks/{id}': { get: Op<{}, S['Task']> }
  '/tasks/{id}/cancel': { put: Op<{}, 'none'> }
  '/applications/{application}/clusters': { get: Op<{}, { [key: string]: string[] }> }
  '/applications/{application}/clusters/{account}/{clusterName}/serverGroups/{serverGroupName}/scalingActivities': { get: Op<{ provider?: string; region?: string }, S['ScalingActivity'][]> }
  '/applications/{applicationName}/serverGroups': { get: Op<{ expand?: string; cloudProvider?: string; clusters?: string }, S['ServerGroup'][]> }
  '/applications/{applicationName}/serverGroups/{account}/{region}/{serverGroupName}': { get: Op<{}, S['ServerGroup']> }
  '/instances/{account}/{region}/{instanceId}': { get: Op<{}, S['Instance']> }
  '/instances/{account}/{region}/{instanceId}/console': { get: Op<{ provider?: string; tail?: number; offset?: number; find?: string; container?: string; previous?: string }, S['ConsoleOutput']> }
  '/applications/{applicationName}/jobs': { get: Op<{ expand?: string }, S['Job'][]> }
  '/applications/{applicationName}/jobs/{account}/{region}/{name}': { get: Op<{ expand?: string }, S['Job']> }
  '/loadBalancers': { get: Op<{ provider?: string }, S['LoadBalancerItem'][]> }
  '/loadBalancers/{account}/{region}/{name}': { get: Op<{ provider?: string }, S['LoadBalancer'][]> }
  '/applications/{application}/loadBalancers': { get: Op<{}, S['LoadBalancer'][]> }
  '/securityGroups': { get: Op<{ id?: string }, unknown> }
  '/securityGroups/{account}/{region}/{name}': { get: Op<{ provider?: string }, S['SecurityGroup']> }
  '/instanceTypes': { get: Op<{}, S['InstanceType'][]> }
  '/networks': { get: Op<{}, { [key: string]: S['Network'][] }> }
  '/images/find': { get: Op<{ provider?: string; q?: string; region?: string; account?: string; count?: number }, S['Image'][]> }
  '/bakery/options': { get: Op<{}, S['BakeOptions'][]> }
  '/bakery/logs/{region}/{statusId}': { get: Op<{}, string> }
  '/v2/builds': { get: Op<{ type?: string }, string[]> }
  '/credentials': { get: Op<{ expand?: boolean }, S['Account'][]> }
  '/search': { get: Op<{ q?: string; type: string[]; platform?: string; pageSize?: number; page?: number }, S['SearchResultSet'][]> }
  '/auth/user': { get: Op<{}, S['CurrentUser']> }
  '/auth/user/serviceAccounts': { get: Op<{ application?: string }, string[]> }
  '/auth/roles/sync': { post: Op<{}, 'none'> }
  '/applications/{application}/environments': { get: Op<{}, S['Environments']> }
  '/applications/{application}/review': { get: Op<{ environment?: string; execution?: string; stage?: string }, S['Review']> }
  '/applications/{application}/releases': { get: Op<{}, S['Release'][]> }
  '/applications/{application}/releases/{version}': { get: Op<{}, S['Release']> }
  '/applications/{application}/delivery': { get: Op<{ since?: number; environment?: string }, S['Delivery']> }
  '/pipelines/{id}/release': { put: Op<{}, Any[]> }
  '/pipelineConfigs': { get: Op<{}, S['Pipeline'][]> }
  '/pipelineConfigs/{pipelineConfigId}/history': { get: Op<{ limit?: number }, S['Pipeline'][]> }
  '/actions/pipelines/reorder': { post: Send<{}, S['DefinitionOrder'], S['Task']> }
  '/applications/{application}/findings': { get: Op<{}, S['FindingsOfDefinition'][]>; post: Send<{}, S['Pipeline'], S['Finding'][]> }
  '/pipelines/v2/{application}/{pipelineNameOrId}': { post: MaySend<{}, S['StartRequest'], { eventId: string; ref: string }, 202> }
  '/applications/{application}/executions/search': { get: Op<{ triggerTypes?: string; pipelineName?: string; eventId?: string; trigger?: string; triggerTimeStartBoundary?: string; triggerTimeEndBoundary?: string; user?: string; parameter?: string; text?: string; concernsMe?: boolean; statuses?: string; startIndex?: number; size?: number; expand?: boolean }, S['Execution'][]> }
  '/pipelines/{id}/evaluateVariables': { post: Send<{ executionId?: string; requisiteStageRefIds?: string; spelVersion?: string }, S['EvaluateVariablesBody'], S['VariablesEvaluation']> }
  '/applications/{application}/tasks/judge': { post: Send<{}, S['TaskRequest'], S['TaskJudgement']> }
  '/projects': { get: Op<{}, S['Project'][]> }
  '/projects/{id}': { get: Op<{}, S['Project']> }
  '/applications/{application}/serverGroupManagers': { get: Op<{}, S['ServerGroupManager'][]> }
  '/applications/{application}/rawResources': { get: Op<{}, S['RawResource'][]> }
  '/applications/{application}/serverGroups/{account}/{serverGroupName}/events': { get: Op<{ region: string; provider: string }, S['ServerGroupEvent'][]> }
  '/serverGroups': { get: Op<{ applications?: string[]; ids?: string[]; cloudProvider?: string }, S['ServerGroup'][]> }
  '/manifests/{account}/{location}/{name}': { get: Op<{}, S['Manifest']> }
  '/manifests/plan': { post: Send<{}, S['ManifestPlan'], S['ManifestDifference'][]> }
  '/applications/{application}/drift': { get: Op<{ account?: string; location?: string }, S['ManifestDrift'][]> }
  '/cloudMetrics/{cloudProvider}/{account}/{region}/{metricName}/statistics': { get: Op<{ startTime?: string; endTime?: string; serverGroup?: string }, Open<{ unit?: string | null; period?: number | null; datapoints?: Any[] | null; latest?: Any | null }>> }
  '/v3/builds/{buildMaster}/jobs': { get: Op<{}, string[]> }
  '/v3/builds/{buildMaster}/build/{number}/file': { get: Op<{ job: string; path: string }, string> }
  '/v3/builds/{buildMaster}/build/{number}/output': { get: Op<{ job: string }, Open<{ log: string }>> }
  '/artifacts/credentials': { get: Op<{}, S['ArtifactAccount'][]> }
  '/': { get: Op<{}, 'none'> }
  '/auth/explain': { get: Op<{ operation: string; application?: string; account?: string; username?: string; roles?: string }, S['AccessExplanation']>; post: Send<{}, S['AccessQuestions'], S['AccessExplanations']> }
  '/auth/sessions': { get: Op<{ username?: string; limit?: number; offset?: number }, S['LoginSession'][]>; delete: Op<{ username?: string }, 'none', 204> }
  '/auth/sessions/{id}': { delete: Op<{ username?: string }, 'none', 204> }
  '/auth/users': { get: Op<{}, S['FormUser'][]>; post: Send<{}, S['FormUserCreation'], S['FormUserPassword'], 201> }
  '/auth/users/{username}/password': { put: Send<{}, S['FormUserPasswordChange'], S['FormUserPassword']> }
  '/auth/users/{username}/roles': { put: Send<{}, S['FormUserRoles'], S['FormUser']> }
  '/auth/users/{username}/unlock': { post: Op<{}, 'none', 204> }
  '/auth/users/{username}': { delete: Op<{}, S['RemovedFormUser']> }
  '/audit/events': { get: Op<{ kind?: "change" | "read" | "refusal" | "login" | "logout" | "token" | "audit"; user?: string; address?: string; operation?: string; application?: string; decision?: "begun" | "allowed" | "refused" | "failed" | "interrupted"; from?: string; to?: string; limit?: number; cursor?: string }, S['AuditEvents']> }
  '/audit/verification': { get: Op<{ expect?: string }, S['AuditVerification']> }
  '/auth/apiTokens': { get: Op<{}, S['ApiToken'][]>; post: Send<{}, S['ApiTokenRequest'], S['IssuedApiToken'], 201> }
  '/auth/apiTokens/admin/users': { get: Op<{}, S['ApiToken'][]> }
  '/auth/apiTokens/{id}/rotate': { post: MaySend<{}, S['ApiTokenRotation'], S['IssuedApiToken']> }
  '/auth/apiTokens/{id}': { delete: Op<{}, 'none', 204> }
  '/applications/{application}/triggerEvents': { get: Op<{ pipeline?: string; type?: string; outcome?: "started" | "nothing" | "failed"; from?: number; limit?: number; cursor?: string }, S['TriggerEvent'][]> }
  '/cron/validate': { get: Op<{ expression: string }, S['CronVerdict']> }
  '/notifications/{type}/{application}': { get: Op<{}, S['NotificationSettings']>; post: Send<{ findings?: boolean }, S['NotificationSettings'], S['SavedWithFindings']> }
  '/notifications/{type}/{application}/test': { post: Send<{}, S['NotificationTest'], S['NotificationTestResult']> }
  '/notifications/metadata': { get: Op<{}, S['NotificationKind'][]> }
  '/capabilities/expressions': { get: Op<{}, S['ExpressionCapabilities']> }
  '/capabilities/stageTypes': { get: Op<{}, S['StageTypes']> }
  '/capabilities/cloudProviders': { get: Op<{}, S['CloudProvider'][]> }
  '/capabilities/quietPeriod': { get: Op<{}, S['QuietPeriod']> }
  '/pubsub/subscriptions': { get: Op<{}, S['Subscription'][]> }
  '/applications/{application}/secrets': { get: Op<{}, S['Secret'][]> }
  '/applications/{application}/secrets/{name}': { put: Send<{}, S['SecretValue'], S['Secret']>; delete: Op<{}, 'none'> }
  '/applications/{application}/secrets/{name}/uses': { get: Op<{}, S['SecretUses']> }
  '/v2/canaryConfig': { get: Op<{ application?: string }, S['CanaryConfig'][]> }
  '/v2/canaries/credentials': { get: Op<{}, S['CanaryAccount'][]> }
  '/v2/canaries/canary/{canaryConfigId}': { get: Op<{ storageAccountName?: string }, S['CanaryResult']> }
  '/v2/canaries/{application}/executions': { get: Op<{ limit: number; page?: number; statuses?: string; storageAccountName?: string }, S['CanaryResult'][]> }
  '/v2/canaries/metricSetPairList/{metricSetPairListId}': { get: Op<{ storageAccountName?: string }, S['MetricSetPair'][]> }
  '/version': { get: Op<{}, { version: string }> }
  '/health/readiness': { get: Op<{}, S['Health']> }
  '/metrics': { get: Op<{}, string> }
  '/doctor': { get: Op<{}, S['Examination']> }
}

export interface components {
  schemas: {
    AccessExplanation: { operation: string; request: string; username: string; known: boolean; admin: boolean; roles: ({ name: string; source: string; from: string })[]; demands: string; decision: "allowed" | "denied" | "depends"; reasons: ({ need: string; allowed: boolean; rule: string })[]; open: string[]; optional: string[]; enforcement?: { by: "gateway" | "services" | "both"; note: string }; resources?: ({ kind: string; name: string; permissions: { [key: string]: string[] } })[] }
    AccessExplanations: { explanations: S['AccessExplanation'][] }
    AccessQuestions: { questions: ({ operation: string; application?: string; account?: string; username?: string; roles?: string })[] }
    Account: Open<{ name: string; cloudProvider?: string | null; environment?: string | null; type: string; permissions?: { [key: string]: string[] }; authorized: boolean; challengeDestructiveActions?: boolean | null; regions?: unknown }>
    AnyObject: Any
    ApiToken: { id: string; name: string; principalId: string; createdAt: string; expiresAt?: string; lastUsedAt?: string; readOnly: boolean; applications?: string[]; operations?: string[] }
    ApiTokenRequest: { name: string; principalId?: string | null; expiresAt?: string | null; readOnly?: boolean | null; applications?: string[] | null; operations?: string[] | null }
    ApiTokenRotation: { overlapSeconds?: number | null }
    Application: Open<{ name: string; attributes: S['ApplicationAttributes']; clusters: { [key: string]: S['Cluster'][] } }>
    ApplicationAttributes: Open<{ name: string; email?: string | null; description?: string | null; lastModifiedBy?: string | null; repoType?: string | null; repoProjectKey?: string | null; repoSlug?: string | null; aliases?: string | null; cloudProviders?: string | null; accounts?: string | null; createTs?: string | null; updateTs?: string | null; permissions?: S['Permissions'] | null; trafficGuards?: S['TrafficGuard'][] | null; environments?: S['DeclaredEnvironment'][] | null; instancePort?: number | null; platformHealthOnly?: boolean | null }>
    Artifact: Open<{ type?: string; name?: string | null; version?: string | null; location?: string | null; reference?: string | null; uuid?: string | null; metadata?: Any | null }>
    ArtifactAccount: Open<{ name: string; types?: string[] | null }>
    AuditEvent: Open<{ sequence: number; at: string; kind: "change" | "read" | "refusal" | "login" | "logout" | "token" | "audit"; decision: "begun" | "allowed" | "refused" | "failed" | "interrupted"; user?: string; address?: string; requestId?: string; method?: string; application?: string; login?: string; token?: string; operation?: string; resource?: { [key: string]: string }; status?: number; error?: string; reason?: string; upstream?: (Open<{ service: string; status?: number }>)[]; change?: string; repeated?: number; lost?: number; previous: string; hash: string }>
    AuditEvents: { events: S['AuditEvent'][]; next?: string }
    AuditVerification: { sound: boolean; records: number; first?: number; last?: { sequence: number; hash: string }; lost: number; breaks: ({ line: number; problem: string })[]; hasExpected: boolean }
    Authentication: Open<{ user?: string | null; allowedAccounts?: string[] | null; steeredBy?: (Open<{ user: string; at: number; how: string }>)[] | null }>
    BakeOptions: Open<{ cloudProvider: string; baseImages?: (Open<{ id: string; shortDescription?: string | null }>)[] | null }>
    CanaryAccount: Open<{ name?: string | null; type?: string | null }>
    CanaryConfig: Open<{ id?: string; name?: string; applications?: string[] }>
    CanaryResult: Open<{ complete?: boolean | null; status?: string | null; application?: string | null; result?: Any | null }>
    Capacity: Open<{ min?: number | null; max?: number | null; desired?: number | null; pinned?: boolean | null }>
    CloudProvider: Open<{ id: string; label: string; forms: string[]; refused: { [key: string]: string }; help: { [key: string]: string }; hasManifests?: boolean; metrics?: string[]; imagesPath?: string }>
    Cluster: Open<{ name: string; accountName?: string | null; account?: string | null; type?: string | null; provider?: string | null; moniker?: S['Moniker'] | null; serverGroups?: unknown[] | null; loadBalancers?: unknown[] | null }>
    ConsoleOutput: Open<{ output: unknown; offset?: number; nextOffset?: number; line?: number; matches?: (Open<{ offset: number; line: number }>)[]; hasMoreMatches?: boolean }>
    CronVerdict: Open<{ valid: boolean; description?: string; nextTimes?: number[]; timeZone?: string; message?: string }>
    CurrentUser: { username: string; email: string | null; roles: string[]; allowedAccounts: string[]; enabled: true; isAdmin: boolean; canMintApiTokens: boolean; maxUserTokenLifetimeDays?: number }
    DeclaredEnvironment: Open<{ name: string; accounts: string[]; regions?: string[]; clusters?: string[]; mayPromote?: string[]; constraints?: S['EnvironmentConstraint'][] }>
    DefinitionOrder: Open<{ application: string; idsToIndices: { [key: string]: number } }>
    Delivery: Open<{ sinceMs: number; untilMs: number; environment: string | null; environments: string[]; complete: boolean; figures: { deploymentFrequency: Open<{ deployments: number; title: string; text: string; definition: string }>; leadTime: Open<{ of: number; title: string; text: string; definition: string }>; changeFailureRate: Open<{ share: number | null; failed: number; of: number; title: string; text: string; definition: string }>; timeToRestore: Open<{ of: number; open: number; title: string; text: string; definition: string }> }; changes: S['DeliveryChange'][] }>
    DeliveryChange: Open<{ run: Open<{ id: string; pipeline: string; user?: string | null }>; atMs: number; kind: "deployment" | "restoration"; clusters: string[]; images: string[]; labels: string[]; commit?: S['EnvironmentCommit']; build?: S['EnvironmentBuild']; leadMs?: number; failure?: string; restoredAtMs?: number }>
    Environment: Open<{ name: string; accounts: string[]; regions?: string[]; clusters: S['EnvironmentCluster'][]; mayPromote?: string[]; versions: S['EnvironmentVersion'][]; sinceMs?: number | null; health: S['EnvironmentHealth']; history: string[]; rolledBackFrom: string[]; rollback?: Open<{ from: string; atMs?: number | null; to?: string | null; user?: string | null; reason?: string | null; task?: string | null; run?: string | null }>; drift: S['EnvironmentDrift'][]; warnings: string[]; promotion?: S['EnvironmentPromotion'] }>
    EnvironmentBuild: Open<{ server?: string | null; job?: string | null; url?: string | null; result?: string | null; number?: number | null }>
    EnvironmentCluster: Open<{ provider: string; account: string; region: string; cluster: string; serverGroups: string[]; versions: S['EnvironmentVersion'][]; sinceMs?: number | null; health: S['EnvironmentHealth']; run?: S['EnvironmentRun'] }>
    EnvironmentCommit: Open<{ sha: string; branch?: string | null; message?: string | null; author?: string | null; url?: string | null; timestamp?: string | number | null }>
    EnvironmentCondition: Open<{ type: "judgment" | "soakTime" | "window" | "canary" | "verification"; state: "met" | "waits" | "failed" | "ahead"; text: string; untilMs?: number | null; run?: string | null; stage?: string | null; analysis?: string | null }>
    EnvironmentConstraint: Open<{ type: "judgment" | "soakTime" | "window" | "canary" | "verification"; roles?: string[]; instructions?: string; minutes?: number; days?: number[]; whitelist?: (Open<{ startHour: number; startMin?: number; endHour: number; endMin?: number }>)[]; checks?: (Open<{ type: "http" | "metric" | "logs" | "prometheus" | "command" }>)[]; rollback?: boolean; canaryConfig?: Any; trafficPercent?: number }>
    EnvironmentDrift: Open<{ account?: string; namespace?: string; name?: string; manager?: string | null; since?: string | null; deleted?: boolean; fields?: string[]; changes?: (Open<{ path: string; live: unknown; wanted: unknown }>)[]; note?: string; text: string }>
    EnvironmentHealth: Open<{ state: "up" | "degraded" | "down" | "disabled" | "empty"; up: number; total: number }>
    EnvironmentPromotion: Open<{ from: string; images: (Open<{ image: string; from: string | null; to: string }>)[]; manifests: (Open<{ name: string; change: "added" | "changed" | "removed" }>)[]; commits: S['EnvironmentCommit'][]; authors: string[]; builds: S['EnvironmentBuild'][]; note?: string; pipelines: (Open<{ id: string; name: string; promotes: boolean }>)[]; mayPromote: boolean; holds: string[]; conditions: S['EnvironmentCondition'][]; runs: (Open<{ id: string; pipeline: string; waitsFor?: string | null; judgment?: string; sinceMs?: number | null }>)[] }>
    EnvironmentRun: Open<{ id: string; pipeline: string; user?: string | null; atMs?: number | null }>
    EnvironmentVersion: Open<{ image: string; label: string; digest?: string; commit?: S['EnvironmentCommit']; build?: S['EnvironmentBuild'] }>
    Environments: Open<{ declared: boolean; problem?: string; environments: S['Environment'][] }>
    EvaluateVariablesBody: S['Variable'][]
    Examination: { verdict: "ok" | "warning" | "problem"; publicUrl: string; addresses: ({ login: string; what: string; url: string; needed: boolean })[]; findings: ({ subject: string; verdict: "ok" | "warning" | "problem"; tried: string; found: string; advice?: string; guide?: string })[] }
    Execution: Open<{ id: string; type: "PIPELINE" | "ORCHESTRATION"; application: string; name?: string | null; description?: string | null; pipelineConfigId?: string | null; canceledBy?: string | null; cancellationReason?: string | null; origin?: string | null; status: S['ExecutionStatus']; buildTime?: number | null; startTime?: number | null; endTime?: number | null; canceled?: boolean | null; paused?: Any | null; authentication?: S['Authentication'] | null; limitConcurrent?: boolean | null; keepWaitingPipelines?: boolean | null; trigger: S['Trigger']; stages: S['Stage'][]; notifications?: Any[] | null; systemNotifications?: Any[] | null; notificationDeliveries?: S['NotificationDelivery'][] | null }>
    ExecutionStatus: "NOT_STARTED" | "BUFFERED" | "RUNNING" | "PAUSED" | "SUSPENDED" | "REDIRECT" | "SUCCEEDED" | "FAILED_CONTINUE" | "SKIPPED" | "TERMINAL" | "CANCELED" | "STOPPED"
    ExpectedArtifact: Open<{ id?: string; displayName?: string | null; matchArtifact?: S['Artifact'] | null }>
    ExpressionCapabilities: Open<{ functions: (Open<{ name: string; description?: string | null; parameters?: (Open<{ name: string; description?: string | null; type?: string | null }>)[] | null }>)[] }>
    Finding: Open<{ severity: "error" | "warning" | "note"; place: string; stage?: string; message: string; held?: true }>
    FindingsOfDefinition: Open<{ kind: string; id?: string; name?: string; findings: S['Finding'][] }>
    FormUser: { username: string; roles: string[]; isAdmin: boolean; createdAt: string; lastUsedAt?: string; tokens?: number }
    FormUserCreation: { username: string; roles?: string[]; password?: string }
    FormUserPassword: { username: string; password?: string }
    FormUserPasswordChange: { password?: string; revokeTokens?: boolean }
    FormUserRoles: { roles: string[] }
    Health: { status: "UP" | "DOWN"; waitingFor?: string[]; troubles?: string[] }
    Image: Open<{ imageName?: string | null; attributes?: Any | null; artifact?: Any | null; accounts?: string[] | null; repository?: string | null; tag?: string | null; account?: string | null; registry?: string | null; digest?: string | null }>
    Instance: Open<{ name: string; id?: string | null; humanReadableName?: string | null; account?: string | null; region?: string | null; zone?: string | null; serverGroup?: string | null; cluster?: string | null; cloudProvider?: string | null; healthState?: string | null; launchTime?: number | null; health?: Any[] | null }>
    InstanceCounts: Open<{ total?: number | null; up?: number | null; down?: number | null; unknown?: number | null; starting?: number | null }>
    InstanceType: Open<{ name: string; account?: string | null; region?: string | null }>
    IssuedApiToken: { id: string; name: string; principalId: string; createdAt: string; expiresAt?: string; lastUsedAt?: string; readOnly: boolean; applications?: string[]; operations?: string[]; token: string }
    Job: Open<{ name?: string | null; id?: string | null; account?: string | null; location?: string | null; provider?: string | null; jobState?: string | null; createdTime?: number | null; completedTime?: number | null; completionDetails?: Any | null }>
    LoadBalancer: Open<{ name?: string | null; account?: string | null; region?: string | null; type?: string | null; cloudProvider?: string | null; moniker?: S['Moniker'] | null; serverGroups?: Any[] | null; instances?: unknown[] | null; securityGroups?: unknown[] | null }>
    LoadBalancerItem: Open<{ name: string; accounts?: (Open<{ name: string; regions?: (Open<{ name: string; loadBalancers?: S['LoadBalancer'][] | null }>)[] | null }>)[] | null }>
    LoginSession: { id: string; current: boolean; method: string; createdAt?: string; lastUsedAt: string; address?: string; userAgent?: string }
    Manifest: Open<{ account?: string | null; name?: string | null; location?: string | null; moniker?: S['Moniker'] | null; manifest?: Any | null; status?: Any | null; health?: Any | null; artifacts?: Any[] | null; events?: Any[] | null; warnings?: Any[] | null }>
    ManifestDifference: Open<{ account: string; namespace: string; name: string; change: "create" | "update" | "none" | "error"; fields: (Open<{ path: string; change: "added" | "changed" | "removed"; before?: unknown; after?: unknown }>)[]; message?: string }>
    ManifestDrift: Open<{ account: string; namespace: string; name: string; manager: string | null; since: string | null; deleted?: boolean; fields: string[]; changes?: (Open<{ path: string; live: unknown; wanted: unknown }>)[]; note?: string }>
    ManifestPlan: Open<{ account: string; application: string; manifests: Any[]; namespaceOverride?: string | null }>
    MetricSetPair: Open<{ id: string; name: string; values?: { [key: string]: unknown[] } | null }>
    Moniker: Open<{ app?: string | null; stack?: string | null; detail?: string | null; cluster?: string | null; sequence?: number | null }>
    Network: Open<{ id?: string | null; name?: string | null; cloudProvider?: string | null; account?: string | null; region?: string | null; deprecated?: boolean | null }>
    Notification: Open<{ type?: string | null; address?: string | null; level?: string | null; when?: string[] | null; message?: Any | null }>
    NotificationDelivery: Open<{ id: string; type: string; address: string; when: string; stageId?: string | null; status: "waiting" | "delivered" | "failed"; attempts: number; changedTime?: number | null; reason?: string | null }>
    NotificationKind: Open<{ notificationType: string; parameters?: Any[] | null }>
    NotificationSettings: Open<{ application?: string | null; lastModifiedBy?: string | null; lastModified?: number | null; email?: S['Notification'][] | null; pubsub?: S['Notification'][] | null }>
    NotificationTest: Open<{ type: string; address?: string | null; commit?: string | null }>
    NotificationTestResult: Open<{ delivered: boolean; reason?: string | null }>
    Parameter: Open<{ name: string; label?: string | null; description?: string | null; default?: unknown; required?: boolean | null; options?: (Open<{ value: string }>)[] | null }>
    Permissions: Open<{ READ?: string[]; WRITE?: string[]; EXECUTE?: string[] }>
    Pipeline: Open<{ application: string; name: string; id?: string; schema?: string | null; description?: string | null; type?: string | null; stages?: S['PipelineStage'][] | null; triggers?: S['PipelineTrigger'][] | null; parameterConfig?: S['Parameter'][] | null; expectedArtifacts?: S['ExpectedArtifact'][] | null; notifications?: S['Notification'][] | null; index?: number | null; disabled?: boolean | null; limitConcurrent?: boolean | null; keepWaitingPipelines?: boolean | null; strategy?: boolean | null; template?: Any | null; variables?: unknown; updateTs?: string | null; lastModifiedBy?: string | null }>
    PipelineStage: Open<{ type?: string | null; name?: string | null; refId?: string | null; requisiteStageRefIds?: string[] | null }>
    PipelineTrigger: Open<{ type?: string | null; id?: string | null; runAsUser?: string | null; source?: string | null; cronExpression?: string | null; enabled?: boolean | null; expectedArtifactIds?: string[] | null }>
    Project: Open<{ id?: string; name: string; email?: string | null; lastModifiedBy?: string | null; config?: Open<{ applications?: string[] | null; clusters?: S['ProjectClusterRule'][] | null; pipelineConfigs?: (Open<{ application: string; pipelineConfigId: string }>)[] | null }> | null; createTs?: number | null; updateTs?: number | null }>
    ProjectClusterRule: Open<{ account: string; stack?: string | null; detail?: string | null; applications?: string[] | null }>
    QuietPeriod: Open<{ enabled?: boolean; inQuietPeriod?: boolean; startTime?: number; endTime?: number }>
    RawResource: Open<{ name: string; account?: string | null; region?: string | null; namespace?: string | null; kind?: string | null; apiVersion?: string | null; displayName?: string | null; labels?: Any | null; moniker?: S['Moniker'] | null }>
    Ref: Open<{ ref: string }>
    Release: Open<{ version: string; images: string[]; commit?: S['EnvironmentCommit']; build?: S['EnvironmentBuild']; tests?: string; failure?: string; atMs?: number | null; serves: string[]; events: (Open<{ kind: "build" | "deployment" | "judgment" | "canary" | "rollback"; atMs?: number | null; text: string; state: "good" | "failed" | "active"; environment?: string | null; user?: string | null; comment?: string | null; run?: string | null; stage?: string | null; task?: string | null; analysis?: string | null }>)[] }>
    RemovedFormUser: { revokedTokens: number }
    Review: Open<{ from?: string | null; to?: string | null; changes: (Open<{ environment: string; image: string; from: string | null; to: string }>)[]; manifests: (Open<{ name: string; change: string }>)[]; commits: S['EnvironmentCommit'][]; authors: string[]; builds: S['EnvironmentBuild'][]; note?: string; settings: string[]; conditions: S['EnvironmentCondition'][]; holds: string[]; next: string[]; onFailure: string; unknown: string[]; accounts?: string[]; sources?: string[]; mayPromote?: boolean; runs?: (Open<{ id: string; pipeline: string }>)[]; pipelines: (Open<{ id: string; name: string; promotes: boolean }>)[]; judgment?: Open<{ execution: string; stage: string; pipeline: string; name: string; instructions?: string | null; user?: string | null; inputs: string[]; roles: string[]; sinceMs?: number | null }> }>
    SavedWithFindings: Open<{ findings: S['Finding'][]; saved?: unknown }>
    ScalingActivity: Open<{ description?: string | null; cause?: string | null; statusCode?: string | null; startTime?: unknown; endTime?: unknown; progress?: number | null; details?: string | null }>
    SearchResultSet: Open<{ pageSize: number; query?: string | null; platform?: string | null; results: (Open<{ type: string; provider?: string | null }>)[] }>
    Secret: Open<{ name: string; scope: "application" | "account"; owner: string; version: number; setTime: number; setBy: string; note?: string | null; lastUseTime?: number | null; isMasked?: boolean | null }>
    SecretUses: Open<{ name: string; version: number; running: (Open<{ place: string; version: number; count: number; isCurrent: boolean }>)[]; uses: (Open<{ version: number; isCurrent: boolean; place: string; user: string; count: number; lastTime: number }>)[] }>
    SecretValue: Open<{ value: string; note?: string | null }>
    SecurityGroup: Open<{ id?: string | null; type?: string | null; cloudProvider?: string | null; accountName?: string | null; region?: string | null; application?: string | null; description?: string | null; name: string; moniker?: S['Moniker'] | null; inboundRules?: Any[] | null; outboundRules?: Any[] | null }>
    ServerGroup: Open<{ name: string; account?: string | null; type?: string | null; cloudProvider?: string | null; cluster?: string | null; application?: string | null; instanceType?: string | null; region: string; moniker?: S['Moniker'] | null; createdTime?: number | null; isDisabled?: boolean | null; disabled?: boolean | null; capacity?: S['Capacity'] | null; instanceCounts?: S['InstanceCounts'] | null; instances?: S['Instance'][] | null; loadBalancers?: unknown[] | null; securityGroups?: unknown[] | null; buildInfo?: Any | null; image?: Any | null; launchConfig?: Any | null; labels?: Any | null; serverGroupManagers?: Any[] | null }>
    ServerGroupEvent: Open<{ description?: string | null; cause?: string | null; statusCode?: string | null }>
    ServerGroupManager: Open<{ name: string; account?: string | null; region?: string | null; namespace?: string | null; kind?: string | null; moniker?: S['Moniker'] | null; serverGroups?: Any[] | null }>
    Stage: Open<{ id: string; refId?: string | null; name?: string | null; parentStageId?: string | null; type: string; status: S['ExecutionStatus']; startTime?: number | null; endTime?: number | null; context: Any; outputs: Any; tasks: S['TaskStep'][]; requisiteStageRefIds?: string[] | null; syntheticStageOwner?: "STAGE_BEFORE" | "STAGE_AFTER" | null; lastModified?: Any | null }>
    StageField: Open<{ name: string; kind: string; required: boolean; default?: unknown; choices?: string[]; onlyChoices: boolean; form?: "duration"; range?: Open<{ from?: number; to?: number; above?: number }>; choicesFrom?: string; help: string; expression: boolean; otherNames?: string[]; fields?: Any[] }>
    StageTypes: Open<{ engine: "embedded" | "external"; commonFields: S['StageField'][]; stageTypes: (Open<{ type: string; label: string; group: string; description: string; use: "pipeline" | "task" | "both"; runsHere?: boolean; reason?: string; fields: S['StageField'][] }>)[] }>
    StageUpdate: Open<{ judgmentStatus?: string; judgmentInput?: string; judgmentComment?: string; skipRemainingWait?: boolean; manualSkip?: boolean }>
    StartRequest: Open<{ type?: string; user?: string | null; parameters?: Any | null; artifacts?: S['Artifact'][] | null; notifications?: S['Notification'][] | null; dryRun?: boolean | null }>
    Subscription: Open<{ pubsubSystem: string; subscriptionName: string }>
    Task: Open<{ id: string; name?: string | null; application: string; status: S['ExecutionStatus']; buildTime?: number | null; startTime?: number | null; endTime?: number | null; steps: S['TaskStep'][]; variables: (Open<{ key: string; value: unknown }>)[]; execution?: S['Execution'] | null }>
    TaskFinding: Open<{ job?: number; stage?: string; field?: string; message: string }>
    TaskJob: Open<{ type: string; user?: string; reason?: string }>
    TaskJudgement: Open<{ engine: "embedded" | "external"; decision: "accepted" | "refused" | "depends"; objections: S['TaskFinding'][]; open: S['TaskFinding'][] }>
    TaskRequest: Open<{ application: string; description: string; job: S['TaskJob'][] }>
    TaskStep: Open<{ id: string; name: string; status: S['ExecutionStatus']; startTime?: number | null; endTime?: number | null; taskExceptionDetails?: Any | null }>
    TrafficGuard: Open<{ account?: string | null; location?: string | null; stack?: string | null; detail?: string | null; enabled?: boolean | null }>
    Trigger: Open<{ type: string; user?: string | null; parameters?: Any | null; artifacts?: S['Artifact'][] | null; notifications?: S['Notification'][] | null; dryRun?: boolean | null; strategy?: boolean | null; eventId?: string | null; payload?: unknown; parentExecution?: Any | null }>
    TriggerEvent: Open<{ id: string; time: number; type: string; source: string; outcome: "started" | "nothing" | "failed"; summary: Any; payload?: Any | null; reason?: string | null; triggers: S['TriggerOutcome'][] }>
    TriggerOutcome: Open<{ application: string; pipelineId: string; pipeline: string; trigger: string; executionId?: string | null; reason?: string | null }>
    Variable: Open<{ key: string; value: unknown; description?: string }>
    VariablesEvaluation: Open<{ result?: S['Variable'][]; detail?: Any | null }>
  }
}
