/** What the console uses of the API of Fairlead. Printed by `npm run docs` from the OpenAPI document; change the operations instead. */

export interface paths {
  '/applications': {
    /** List applications */ get: { parameters: { query?: { account?: string; owner?: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['ApplicationAttributes'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}': {
    /** Get an application */ get: { parameters: { query?: { expand?: boolean }; path: { application: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Application'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/history': {
    /** List revisions of an application */ get: { parameters: { query?: { limit?: number }; path: { application: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['ApplicationAttributes'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/pipelineConfigs': {
    /** List pipelines of an application */ get: { parameters: { query?: { pipelineNameFilter?: string; pipelineLimit?: number }; path: { application: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Pipeline'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/pipelineConfigs/{pipelineName}': {
    /** Get a pipeline */ get: { parameters: { path: { application: string; pipelineName: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Pipeline'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Start a pipeline (older address) */ post: { parameters: { query?: { user?: string }; path: { application: string; pipelineName: string } }; requestBody?: { content: { 'application/json': components['schemas']['StartRequest'] } }; responses: { 200: { content: { 'application/json': components['schemas']['Ref'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelines': {
    /** Save a pipeline */ post: { parameters: { query?: { staleCheck?: boolean } }; requestBody: { content: { 'application/json': components['schemas']['Pipeline'] } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelines/{id}': {
    /** Update a pipeline */ put: { parameters: { path: { id: string } }; requestBody: { content: { 'application/json': components['schemas']['Pipeline'] } }; responses: { 200: { content: { 'application/json': components['schemas']['Pipeline'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Get an execution */ get: { parameters: { path: { id: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Execution'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Delete an execution */ delete: { parameters: { path: { id: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelines/{application}/{pipelineName}': {
    /** Delete a pipeline */ delete: { parameters: { path: { application: string; pipelineName: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Start a pipeline */ post: { parameters: { path: { application: string; pipelineName: string } }; requestBody?: { content: { 'application/json': components['schemas']['StartRequest'] } }; responses: { 202: { content: { 'application/json': components['schemas']['Ref'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelines/start': {
    /** Start a given definition */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['Pipeline'] } }; responses: { 200: { content: { 'application/json': components['schemas']['Ref'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/pipelines': {
    /** List executions of an application */ get: { parameters: { query?: { limit?: number; statuses?: string; expand?: boolean; pipelineNameFilter?: string; pipelineLimit?: number }; path: { application: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Execution'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/executions': {
    /** List executions by ids */ get: { parameters: { query?: { pipelineConfigIds?: string; executionIds?: string; limit?: number; statuses?: string; expand?: boolean } }; responses: { 200: { content: { 'application/json': (components['schemas']['Execution'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelines/{id}/cancel': {
    /** Cancel an execution */ put: { parameters: { query?: { reason?: string; force?: boolean }; path: { id: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelines/{id}/pause': {
    /** Pause an execution */ put: { parameters: { path: { id: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelines/{id}/resume': {
    /** Resume an execution */ put: { parameters: { path: { id: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelines/{id}/stages/{stageId}/restart': {
    /** Restart a stage */ put: { parameters: { path: { id: string; stageId: string } }; requestBody: { content: { 'application/json': components['schemas']['AnyObject'] } }; responses: { 200: { content: { 'application/json': components['schemas']['Execution'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelines/{id}/stages/{stageId}': {
    /** Update or judge a stage */ patch: { parameters: { path: { id: string; stageId: string } }; requestBody: { content: { 'application/json': components['schemas']['StageUpdate'] } }; responses: { 200: { content: { 'application/json': components['schemas']['Execution'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/tasks': {
    /** List tasks of an application */ get: { parameters: { query?: { page?: number; limit?: number; statuses?: string }; path: { application: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Task'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Submit a task to an application */ post: { parameters: { path: { application: string } }; requestBody: { content: { 'application/json': components['schemas']['TaskRequest'] } }; responses: { 200: { content: { 'application/json': components['schemas']['Ref'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/tasks/{id}': {
    /** Get a task */ get: { parameters: { path: { id: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Task'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Delete a task */ delete: { parameters: { path: { id: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/tasks/{id}/cancel': {
    /** Cancel a task */ put: { parameters: { path: { id: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/clusters': {
    /** List clusters of an application */ get: { parameters: { path: { application: string } }; responses: { 200: { content: { 'application/json': { [key: string]: (string)[] } } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/clusters/{account}/{clusterName}/serverGroups/{serverGroupName}/scalingActivities': {
    /** List scaling activities */ get: { parameters: { query?: { provider?: string; region?: string }; path: { application: string; account: string; clusterName: string; serverGroupName: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['ScalingActivity'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{applicationName}/serverGroups': {
    /** List server groups of an application */ get: { parameters: { query?: { expand?: string; cloudProvider?: string; clusters?: string }; path: { applicationName: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['ServerGroup'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{applicationName}/serverGroups/{account}/{region}/{serverGroupName}': {
    /** Get a server group */ get: { parameters: { query?: { includeDetails?: string }; path: { applicationName: string; account: string; region: string; serverGroupName: string } }; responses: { 200: { content: { 'application/json': components['schemas']['ServerGroup'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/instances/{account}/{region}/{instanceId}': {
    /** Get an instance */ get: { parameters: { path: { account: string; region: string; instanceId: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Instance'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/instances/{account}/{region}/{instanceId}/console': {
    /** Get console output */ get: { parameters: { query?: { provider?: string; tail?: number; offset?: number; find?: string; container?: string; previous?: string }; path: { account: string; region: string; instanceId: string } }; responses: { 200: { content: { 'application/json': components['schemas']['ConsoleOutput'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{applicationName}/jobs': {
    /** List jobs of an application */ get: { parameters: { query?: { expand?: string }; path: { applicationName: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Job'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{applicationName}/jobs/{account}/{region}/{name}': {
    /** Get a job */ get: { parameters: { query?: { expand?: string }; path: { applicationName: string; account: string; region: string; name: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Job'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/loadBalancers': {
    /** List load balancers */ get: { parameters: { query?: { provider?: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['LoadBalancerItem'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/loadBalancers/{account}/{region}/{name}': {
    /** Get a load balancer */ get: { parameters: { query?: { provider?: string }; path: { account: string; region: string; name: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['LoadBalancer'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/loadBalancers': {
    /** List load balancers of an application */ get: { parameters: { path: { application: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['LoadBalancer'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/securityGroups': {
    /** List security groups */ get: { parameters: { query?: { id?: string } }; responses: { 200: { content: { 'application/json': unknown } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/securityGroups/{account}/{region}/{name}': {
    /** Get a security group */ get: { parameters: { query?: { provider?: string; vpcId?: string }; path: { account: string; region: string; name: string } }; responses: { 200: { content: { 'application/json': components['schemas']['SecurityGroup'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/instanceTypes': {
    /** List instance types */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['InstanceType'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/networks': {
    /** List networks by provider */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': { [key: string]: (components['schemas']['Network'])[] } } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/images/find': {
    /** Search images */ get: { parameters: { query?: { provider?: string; q?: string; region?: string; account?: string; count?: number } }; responses: { 200: { content: { 'application/json': (components['schemas']['Image'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/bakery/options': {
    /** List bake options */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['BakeOptions'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/bakery/logs/{region}/{statusId}': {
    /** Get the log of a bake */ get: { parameters: { path: { region: string; statusId: string } }; responses: { 200: { content: { 'application/json': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/builds': {
    /** List build servers */ get: { parameters: { query?: { type?: string } }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/credentials': {
    /** List accounts */ get: { parameters: { query?: { expand?: boolean } }; responses: { 200: { content: { 'application/json': (components['schemas']['Account'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Create an account definition */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['AccountDefinition'] } }; responses: { 200: { content: { 'application/json': components['schemas']['AccountDefinition'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Update an account definition */ put: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['AccountDefinition'] } }; responses: { 200: { content: { 'application/json': components['schemas']['AccountDefinition'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/search': {
    /** Search */ get: { parameters: { query: { q?: string; type: (string)[]; platform?: string; pageSize?: number; page?: number; allowShortQuery?: boolean } }; responses: { 200: { content: { 'application/json': (components['schemas']['SearchResultSet'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/user': {
    /** Get the current user */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': components['schemas']['CurrentUser'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/user/serviceAccounts': {
    /** List usable service accounts */ get: { parameters: { query?: { application?: string } }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/roles/sync': {
    /** Synchronise roles */ post: { parameters: {  }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelineConfigs': {
    /** List all pipelines */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['Pipeline'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelineConfigs/{pipelineConfigId}/history': {
    /** List revisions of a pipeline */ get: { parameters: { query?: { limit?: number }; path: { pipelineConfigId: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Pipeline'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/actions/pipelines/reorder': {
    /** Reorder pipelines */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['DefinitionOrder'] } }; responses: { 200: { content: { 'application/json': components['schemas']['Task'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelines/v2/{application}/{pipelineNameOrId}': {
    /** Start a pipeline in the background */ post: { parameters: { path: { application: string; pipelineNameOrId: string } }; requestBody?: { content: { 'application/json': components['schemas']['StartRequest'] } }; responses: { 202: { content: { 'application/json': { eventId: string; /** /pipelines/{execution id} */ ref: string } } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/executions/search': {
    /** Search executions */ get: { parameters: { query?: { triggerTypes?: string; pipelineName?: string; eventId?: string; trigger?: string; triggerTimeStartBoundary?: string; triggerTimeEndBoundary?: string; user?: string; parameter?: string; text?: string; statuses?: string; startIndex?: number; size?: number; reverse?: boolean; expand?: boolean }; path: { application: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Execution'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelines/{id}/evaluateVariables': {
    /** Evaluate variables */ post: { parameters: { query?: { executionId?: string; requisiteStageRefIds?: string; spelVersion?: string }; path: { id: string } }; requestBody: { content: { 'application/json': components['schemas']['EvaluateVariablesBody'] } }; responses: { 200: { content: { 'application/json': components['schemas']['VariablesEvaluation'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/tasks/judge': {
    /** Judge a task without running it */ post: { parameters: { path: { application: string } }; requestBody: { content: { 'application/json': components['schemas']['TaskRequest'] } }; responses: { 200: { content: { 'application/json': components['schemas']['TaskJudgement'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/projects': {
    /** List projects */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['Project'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/projects/{id}': {
    /** Get a project */ get: { parameters: { path: { id: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Project'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/serverGroupManagers': {
    /** List server group managers */ get: { parameters: { path: { application: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['ServerGroupManager'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/rawResources': {
    /** List raw resources */ get: { parameters: { path: { application: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['RawResource'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/serverGroups/{account}/{serverGroupName}/events': {
    /** List events of a server group */ get: { parameters: { query: { region: string; provider: string }; path: { application: string; account: string; serverGroupName: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['ServerGroupEvent'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/serverGroups': {
    /** Find server groups */ get: { parameters: { query?: { applications?: (string)[]; ids?: (string)[]; cloudProvider?: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['ServerGroup'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/manifests/{account}/{location}/{name}': {
    /** Get a Kubernetes object */ get: { parameters: { path: { account: string; location: string; name: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Manifest'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/manifests/plan': {
    /** Plan a deployment of manifests */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['ManifestPlan'] } }; responses: { 200: { content: { 'application/json': (components['schemas']['ManifestDifference'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/drift': {
    /** List drift */ get: { parameters: { query?: { account?: string; location?: string }; path: { application: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['ManifestDrift'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/cloudMetrics/{cloudProvider}/{account}/{region}/{metricName}/statistics': {
    /** Get values of a metric */ get: { parameters: { query?: { startTime?: string; endTime?: string; serverGroup?: string }; path: { cloudProvider: string; account: string; region: string; metricName: string } }; responses: { 200: { content: { 'application/json': { unit?: string | null; /** Seconds that a value is about. */ period?: number | null; datapoints?: ({ [key: string]: unknown })[] | null; [key: string]: unknown } } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v3/builds/{buildMaster}/jobs': {
    /** List jobs of a build host */ get: { parameters: { path: { buildMaster: string } }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v3/builds/{buildMaster}/build/{number}/file': {
    /** Get a file of a build */ get: { parameters: { query: { job: string; path: string }; path: { buildMaster: string; number: string } }; responses: { 200: { content: { 'application/octet-stream': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v3/builds/{buildMaster}/build/{number}/output': {
    /** Get the output of a build */ get: { parameters: { query: { job: string }; path: { buildMaster: string; number: string } }; responses: { 200: { content: { 'application/json': { log: string; [key: string]: unknown } } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/artifacts/credentials': {
    /** List artifact accounts */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['ArtifactAccount'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/': {
    /** Open the web UI */ get: { parameters: {  }; responses: { default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/explain': {
    /** Explain access to an operation */ get: { parameters: { query: { operation: string; application?: string; account?: string; buildService?: string; serviceAccount?: string; username?: string; roles?: string } }; responses: { 200: { content: { 'application/json': components['schemas']['AccessExplanation'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Explain access to several operations */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['AccessQuestions'] } }; responses: { 200: { content: { 'application/json': components['schemas']['AccessExplanations'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/sessions': {
    /** List login sessions */ get: { parameters: { query?: { username?: string; limit?: number; offset?: number } }; responses: { 200: { content: { 'application/json': (components['schemas']['LoginSession'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** End other sessions */ delete: { parameters: { query?: { username?: string } }; responses: { 204: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/sessions/{id}': {
    /** End a session */ delete: { parameters: { query?: { username?: string }; path: { id: string } }; responses: { 204: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/users': {
    /** List users of the form */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['FormUser'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Add a user */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['FormUserCreation'] } }; responses: { 201: { content: { 'application/json': components['schemas']['FormUserPassword'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/users/{username}/password': {
    /** Set a password */ put: { parameters: { path: { username: string } }; requestBody: { content: { 'application/json': components['schemas']['FormUserPasswordChange'] } }; responses: { 200: { content: { 'application/json': components['schemas']['FormUserPassword'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/users/{username}/roles': {
    /** Replace roles */ put: { parameters: { path: { username: string } }; requestBody: { content: { 'application/json': components['schemas']['FormUserRoles'] } }; responses: { 200: { content: { 'application/json': components['schemas']['FormUser'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/users/{username}/unlock': {
    /** Unlock a user */ post: { parameters: { path: { username: string } }; responses: { 204: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/users/{username}': {
    /** Remove a user */ delete: { parameters: { path: { username: string } }; responses: { 200: { content: { 'application/json': components['schemas']['RemovedFormUser'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/audit/events': {
    /** List audit events */ get: { parameters: { query?: { kind?: "change" | "read" | "refusal" | "login" | "logout" | "token" | "audit"; user?: string; address?: string; operation?: string; application?: string; decision?: "begun" | "allowed" | "refused" | "failed" | "interrupted"; from?: string; to?: string; limit?: number; cursor?: string } }; responses: { 200: { content: { 'application/json': components['schemas']['AuditEvents'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/audit/verification': {
    /** Verify the audit log */ get: { parameters: { query?: { expect?: string } }; responses: { 200: { content: { 'application/json': components['schemas']['AuditVerification'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/apiTokens': {
    /** List API tokens */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['ApiToken'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Create an API token */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['ApiTokenRequest'] } }; responses: { 201: { content: { 'application/json': components['schemas']['IssuedApiToken'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/apiTokens/admin/users': {
    /** List API tokens of all users */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['ApiToken'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/apiTokens/{id}/rotate': {
    /** Rotate an API token */ post: { parameters: { path: { id: string } }; requestBody?: { content: { 'application/json': components['schemas']['ApiTokenRotation'] } }; responses: { 200: { content: { 'application/json': components['schemas']['IssuedApiToken'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/apiTokens/{id}': {
    /** Revoke an API token */ delete: { parameters: { path: { id: string } }; responses: { 204: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/triggerEvents': {
    /** List events of an application */ get: { parameters: { query?: { pipeline?: string; type?: string; outcome?: "started" | "nothing" | "failed"; from?: number; limit?: number; cursor?: string }; path: { application: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['TriggerEvent'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/cron/validate': {
    /** Validate a cron expression */ get: { parameters: { query: { expression: string } }; responses: { 200: { content: { 'application/json': components['schemas']['CronVerdict'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/notifications/{type}/{application}': {
    /** Get notification settings */ get: { parameters: { path: { type: string; application: string } }; responses: { 200: { content: { 'application/json': components['schemas']['NotificationSettings'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Save notification settings */ post: { parameters: { path: { type: string; application: string } }; requestBody: { content: { 'application/json': components['schemas']['NotificationSettings'] } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Delete notification settings */ delete: { parameters: { path: { type: string; application: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/notifications/{type}/{application}/test': {
    /** Send a test notification */ post: { parameters: { path: { type: string; application: string } }; requestBody: { content: { 'application/json': components['schemas']['NotificationTest'] } }; responses: { 200: { content: { 'application/json': components['schemas']['NotificationTestResult'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/notifications/metadata': {
    /** List kinds of notification */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['NotificationKind'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/capabilities/expressions': {
    /** List functions of expressions */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': components['schemas']['ExpressionCapabilities'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/capabilities/stageTypes': {
    /** List stage types */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': components['schemas']['StageTypes'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/capabilities/cloudProviders': {
    /** List cloud providers */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['CloudProvider'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/capabilities/quietPeriod': {
    /** Get the quiet period */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': components['schemas']['QuietPeriod'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pubsub/subscriptions': {
    /** List message subscriptions */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['Subscription'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/secrets': {
    /** List secrets of an application */ get: { parameters: { path: { application: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Secret'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/secrets/{name}': {
    /** Set a secret of an application */ put: { parameters: { path: { application: string; name: string } }; requestBody: { content: { 'application/json': components['schemas']['SecretValue'] } }; responses: { 200: { content: { 'application/json': components['schemas']['Secret'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Delete a secret of an application */ delete: { parameters: { path: { application: string; name: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/secrets/{name}/uses': {
    /** List uses of an application secret */ get: { parameters: { path: { application: string; name: string } }; responses: { 200: { content: { 'application/json': components['schemas']['SecretUses'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/version': {
    /** Get the version */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': { version: string } } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/health/readiness': {
    /** Check readiness (older address) */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': components['schemas']['Health'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/metrics': {
    /** Get metrics */ get: { parameters: {  }; responses: { 200: { content: { 'text/plain': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/doctor': {
    /** Examine the installation */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': components['schemas']['Examination'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
}

export interface components {
  schemas: {
    AccessExplanation: { operation: string; /** Method and path. */ request: string; username: string; /** Whether the permission service knows the user; users become known when they log in. */ known: boolean; admin: boolean; roles: ({ name: string; /** As the permission service calls it: EXTERNAL, FILE, LDAP, GOOGLE_GROUPS, GITHUB_TEAMS; or SUPPOSED. */ source: string; /** The same in words. */ from: string })[]; /** What the operation demands. */ demands: string; /** `depends`: on what `open` lists. */ decision: "allowed" | "denied" | "depends"; reasons: ({ need: string; allowed: boolean; rule: string })[]; /** What to add to the question for a decision, as `name=VALUE: what it is`. */ open: (string)[]; /** What some requests of this operation need besides, in the same form. */ optional: (string)[]; /** Who refuses what is denied: see `permissions.enforce`. */ enforcement?: { by: "gateway" | "services" | "both"; note: string }; /** Roles by authorization of the requested objects; an object without any is unrestricted. For administrators. */ resources?: ({ kind: string; name: string; permissions: { [key: string]: (string)[] } })[] }
    AccessExplanations: { explanations: (components['schemas']['AccessExplanation'])[] }
    AccessQuestions: { questions: ({ /** Id of the operation, such as savePipelineUsingPOST, or a request, such as `POST /pipelines`. */ operation: string; /** The application that it would be about. */ application?: string; /** The account that it would be about. */ account?: string; /** The build service that it would be about. */ buildService?: string; /** The service account that a trigger would run as. */ serviceAccount?: string; /** Another user. For administrators. */ username?: string; /** Roles that the user is supposed to have, separated by commas, instead of the known ones. For administrators. */ roles?: string })[] }
    /** An account of a cloud provider. */ Account: { name: string; accountId?: string | null; cloudProvider?: string | null; environment?: string | null; accountType?: string | null; /** Cloud provider. */ type: string; requiredGroupMembership?: (string)[] | null; /** Roles by authorization; empty means open. */ permissions?: { [key: string]: (string)[] }; /** Whether the caller may write to it. */ authorized: boolean; challengeDestructiveActions?: boolean | null; primaryAccount?: boolean | null; /** With all fields only. */ regions?: unknown; [key: string]: unknown }
    /** A stored account; the fields of its cloud provider are allowed beside these. */ AccountDefinition: { name: string; /** Cloud provider. */ type: string; [key: string]: unknown }
    AnyObject: { [key: string]: unknown }
    ApiToken: { id: string; name: string; /** Whom the token speaks for. */ principalId: string; principalType: "USER" | "SERVICE_ACCOUNT"; createdByUserId: string; /** ISO 8601, UTC. */ createdAt: string; /** ISO 8601, UTC. */ rotatedAt?: string; /** Absent: never. */ expiresAt?: string; /** To about a minute. */ lastUsedAt?: string; readOnly: boolean; /** Absent: all. */ applications?: (string)[]; /** Absent: all. */ operations?: (string)[] }
    ApiTokenRequest: { /** Unique among the tokens of the principal. */ name: string; /** `USER` (default) or `SERVICE_ACCOUNT`. */ principalType?: string | null; /** The service account; other users create tokens for themselves only. */ principalId?: string | null; /** ISO 8601. Default: as late as allowed; for a service account never. */ expiresAt?: string | null; /** Allows reading and the evaluation of expressions only. */ readOnly?: boolean | null; /** Allows only what is about these applications. */ applications?: (string)[] | null; /** Allows only the operations with these ids. */ operations?: (string)[] | null }
    ApiTokenRotation: { /** For how long the former secret is accepted. */ overlapSeconds?: number | null }
    Application: { name: string; attributes: components['schemas']['ApplicationAttributes']; /** By account; empty with `expand=false`. */ clusters: { [key: string]: (components['schemas']['Cluster'])[] }; [key: string]: unknown }
    /** Attributes of an application; any others are allowed beside these. */ ApplicationAttributes: { name: string; email?: string | null; description?: string | null; lastModifiedBy?: string | null; repoType?: string | null; repoProjectKey?: string | null; repoSlug?: string | null; aliases?: string | null; /** Comma-separated. */ cloudProviders?: string | null; /** Those in which the application runs, comma-separated. */ accounts?: string | null; /** Milliseconds since the epoch. */ createTs?: string | null; /** Milliseconds since the epoch. */ updateTs?: string | null; permissions?: components['schemas']['Permissions'] | null; trafficGuards?: (components['schemas']['TrafficGuard'])[] | null; instancePort?: number | null; platformHealthOnly?: boolean | null; [key: string]: unknown }
    /** Something that a pipeline deploys: an image, a file, a chart. */ Artifact: { type?: string; name?: string | null; version?: string | null; location?: string | null; reference?: string | null; artifactAccount?: string | null; provenance?: string | null; uuid?: string | null; metadata?: { [key: string]: unknown } | null; [key: string]: unknown }
    ArtifactAccount: { name: string; types?: (string)[] | null; [key: string]: unknown }
    AuditEvent: { /** Counts from 1, without gaps. */ sequence: number; /** ISO 8601, UTC. */ at: string; kind: "change" | "read" | "refusal" | "login" | "logout" | "token" | "audit"; decision: "begun" | "allowed" | "refused" | "failed" | "interrupted"; user?: string; address?: string; requestId?: string; method?: string; application?: string; /** How the user has logged in. */ login?: string; /** Id of the API token. */ token?: string; /** Id of the operation. */ operation?: string; /** What it is about: names and ids. */ resource?: { [key: string]: string }; /** Of the answer. */ status?: number; /** Code of the error. */ error?: string; /** Why credentials were refused, or which right the user lacks. */ reason?: string; upstream?: ({ service: string; status?: number; [key: string]: unknown })[]; /** Joins `begun` with how it ended. */ change?: string; /** How many more like the one before there were. */ repeated?: number; /** Events that could not be written. */ lost?: number; /** Hash of the event before. */ previous: string; hash: string; [key: string]: unknown }
    AuditEvents: { /** The newest first. */ events: (components['schemas']['AuditEvent'])[]; /** `cursor` of the next page; absent on the last. */ next?: string }
    AuditVerification: { /** Whether every record is as it was written, none is missing, and the expected one is there. */ sound: boolean; records: number; /** Sequence of the first record; above 1 where older ones have been removed. */ first?: number; /** The newest record. */ last?: { sequence: number; hash: string }; /** Events that could not be written, as the records say themselves. */ lost: number; /** The first twenty. */ breaks: ({ line: number; problem: string })[]; /** Whether the expected record is there; true where none is expected. */ hasExpected: boolean }
    /** Base images of a cloud provider. */ BakeOptions: { cloudProvider: string; baseImages?: ({ id: string; shortDescription?: string | null; detailedDescription?: string | null; packageType?: string | null; osType?: string | null; [key: string]: unknown })[] | null; [key: string]: unknown }
    Capacity: { min?: number | null; max?: number | null; desired?: number | null; pinned?: boolean | null; [key: string]: unknown }
    CloudProvider: { /** The value of `cloudProvider`. */ id: string; label: string; /** Resources that the usual forms can edit: loadBalancer, securityGroup. */ forms: (string)[]; /** Operations that do not fit its resources, with the reason. */ refused: { [key: string]: string }; /** Help texts of fields of the forms, by name. */ help: { [key: string]: string }; /** Whether it deploys manifests, with plans and drift. */ hasManifests?: boolean; /** Metrics that are kept for each server group. */ metrics?: (string)[]; /** Where all images are listed, and uploaded below it. Absent where they are only searched. */ imagesPath?: string; [key: string]: unknown }
    /** Server groups of an application that replace each other. */ Cluster: { name: string; accountName?: string | null; account?: string | null; type?: string | null; provider?: string | null; moniker?: components['schemas']['Moniker'] | null; /** Server groups, or their names in lists. */ serverGroups?: (unknown)[] | null; /** Load balancers, or their names in lists. */ loadBalancers?: (unknown)[] | null; [key: string]: unknown }
    ConsoleOutput: { /** Text, or a list of logs with `name` and `output`. */ output: unknown; /** Of the first byte of `output`. */ offset?: number; /** Where the next part begins. */ nextOffset?: number; /** Where the output ends at present; there is more when it is beyond `nextOffset`. */ endOffset?: number; /** Bytes from the wanted offset on that were dropped before. */ lostBytes?: number; /** With `tail`: number of the first line of `output`, counted from the oldest that is kept. */ line?: number; /** With `find`: the lines that have the text, by the offset of their first byte and their number. */ matches?: ({ offset: number; line: number; [key: string]: unknown })[]; /** With `find`: there are more than those. */ hasMoreMatches?: boolean; [key: string]: unknown }
    CronVerdict: { valid: boolean; /** The expression in words, when it is valid. */ description?: string; /** When it fires next, in milliseconds since the epoch; from the embedded event service only. */ nextTimes?: (number)[]; /** Zone of the schedule, such as `Europe/Berlin`. */ timeZone?: string; /** What is wrong with it, when it is not. */ message?: string; [key: string]: unknown }
    CurrentUser: { username: string; email: string | null; firstName: string | null; lastName: string | null; /** Those of the permission service, or those learnt at login while it knows none. */ roles: (string)[]; /** Accounts that the user may write to, as of the login. */ allowedAccounts: (string)[]; /** The roles once more. */ authorities: ({ authority: string })[]; enabled: true; accountNonExpired: true; accountNonLocked: true; credentialsNonExpired: true; isAdmin: boolean; canMintApiTokens: boolean; /** Present while there are API tokens. */ maxUserTokenLifetimeDays?: number; /** Present while there are API tokens. */ maxServiceAccountTokenLifetimeDays?: number }
    DefinitionOrder: { application: string; /** Place of each definition, counted from 0. */ idsToIndices: { [key: string]: number }; [key: string]: unknown }
    Error: { /** ISO 8601 with milliseconds and offset. */ timestamp?: string; status: number; /** Reason phrase of the status. */ error: string; /** What failed, and how to fix it. */ message: string; /** Stable error code; docs/reference/errors.md lists all. */ code?: string; /** Finds the request in the log. */ requestId?: string; /** The service that failed. */ upstream?: { service: string; status?: number; [key: string]: unknown }; [key: string]: unknown }
    EvaluateVariablesBody: (components['schemas']['Variable'])[]
    Examination: { /** The worst of all findings. */ verdict: "ok" | "warning" | "problem"; /** The address of the gateway as browsers see it, as far as the configuration tells. */ publicUrl: string; /** To be registered at the identity provider. */ addresses: ({ login: string; what: string; url: string; /** False: answered as well, as by every version of Gate. */ needed: boolean })[]; findings: ({ /** What was looked at. */ subject: string; verdict: "ok" | "warning" | "problem"; tried: string; found: string; /** What to do; absent when there is nothing to do. */ advice?: string; /** Path of the guide in the documentation. */ guide?: string })[] }
    /** A run of a pipeline, or of a task. */ Execution: { id: string; type: "PIPELINE" | "ORCHESTRATION"; application: string; name?: string | null; description?: string | null; pipelineConfigId?: string | null; canceledBy?: string | null; cancellationReason?: string | null; origin?: string | null; rootId?: string | null; status: components['schemas']['ExecutionStatus']; /** When it was submitted, in milliseconds since the epoch. */ buildTime?: number | null; startTime?: number | null; endTime?: number | null; startTimeExpiry?: number | null; /** Cancellation was asked for. */ canceled?: boolean | null; paused?: { [key: string]: unknown } | null; authentication?: { [key: string]: unknown } | null; initialConfig?: { [key: string]: unknown } | null; templateVariables?: { [key: string]: unknown } | null; limitConcurrent?: boolean | null; keepWaitingPipelines?: boolean | null; maxConcurrentExecutions?: number | null; trigger: components['schemas']['Trigger']; stages: (components['schemas']['Stage'])[]; notifications?: ({ [key: string]: unknown })[] | null; systemNotifications?: ({ [key: string]: unknown })[] | null; /** What became of its notifications. Only in a single execution, from the embedded services. */ notificationDeliveries?: (components['schemas']['NotificationDelivery'])[] | null; [key: string]: unknown }
    /** TERMINAL means failed. */ ExecutionStatus: "NOT_STARTED" | "BUFFERED" | "RUNNING" | "PAUSED" | "SUSPENDED" | "REDIRECT" | "SUCCEEDED" | "FAILED_CONTINUE" | "SKIPPED" | "TERMINAL" | "CANCELED" | "STOPPED"
    ExpectedArtifact: { id?: string; displayName?: string | null; matchArtifact?: components['schemas']['Artifact'] | null; defaultArtifact?: components['schemas']['Artifact'] | null; useDefaultArtifact?: boolean | null; usePriorArtifact?: boolean | null; [key: string]: unknown }
    ExpressionCapabilities: { functions: ({ name: string; description?: string | null; parameters?: ({ name: string; description?: string | null; type?: string | null; [key: string]: unknown })[] | null; [key: string]: unknown })[]; spelEvaluators?: ({ versionKey: string; description?: string | null; [key: string]: unknown })[] | null; [key: string]: unknown }
    FormUser: { username: string; /** Lower case, sorted. */ roles: (string)[]; /** Whether a role makes the user an administrator of the embedded permission service. */ isAdmin: boolean; /** ISO 8601, UTC. */ createdAt: string; /** Of the newest session, to about a minute; absent without a session. */ lastUsedAt?: string; /** Number of API tokens; absent while they are switched off. */ tokens?: number }
    FormUserCreation: { username: string; roles?: (string)[]; /** 8 to 1,024 characters. Without it, Fairlead generates one. */ password?: string }
    FormUserPassword: { username: string; /** Only if it was generated. It is not shown again. */ password?: string }
    FormUserPasswordChange: { /** 8 to 1,024 characters. Without it, Fairlead generates one. */ password?: string; /** Also ends the API tokens of the user. */ revokeTokens?: boolean }
    FormUserRoles: { roles: (string)[] }
    Health: { status: "UP" | "DOWN"; /** What readiness waits for; for users. */ waitingFor?: (string)[]; /** What is out of order although requests are served; for users. */ troubles?: (string)[]; /** Processes that serve; for users, where there are several. */ workers?: { running: number; configured: number } }
    /** A machine image or a container image. */ Image: { /** Of a machine image. */ imageName?: string | null; attributes?: { [key: string]: unknown } | null; tagsByImageId?: { [key: string]: unknown } | null; artifact?: { [key: string]: unknown } | null; accounts?: (string)[] | null; /** Ids by region. */ amis?: { [key: string]: (string)[] } | null; /** Of a container image. */ repository?: string | null; tag?: string | null; account?: string | null; registry?: string | null; digest?: string | null; [key: string]: unknown }
    Instance: { name: string; id?: string | null; humanReadableName?: string | null; account?: string | null; region?: string | null; zone?: string | null; serverGroup?: string | null; cluster?: string | null; cloudProvider?: string | null; healthState?: string | null; launchTime?: number | null; health?: ({ [key: string]: unknown })[] | null; insightActions?: ({ url: string; label: string; [key: string]: unknown })[]; [key: string]: unknown }
    InstanceCounts: { total?: number | null; up?: number | null; down?: number | null; unknown?: number | null; starting?: number | null; outOfService?: number | null; [key: string]: unknown }
    InstanceType: { name: string; account?: string | null; region?: string | null; defaultVCpus?: number | null; memoryInGiB?: number | null; [key: string]: unknown }
    IssuedApiToken: { id: string; name: string; /** Whom the token speaks for. */ principalId: string; principalType: "USER" | "SERVICE_ACCOUNT"; createdByUserId: string; /** ISO 8601, UTC. */ createdAt: string; /** ISO 8601, UTC. */ rotatedAt?: string; /** Absent: never. */ expiresAt?: string; /** To about a minute. */ lastUsedAt?: string; readOnly: boolean; /** Absent: all. */ applications?: (string)[]; /** Absent: all. */ operations?: (string)[]; /** The secret. It is not shown again. */ token: string }
    /** A container that runs to an end. */ Job: { name?: string | null; id?: string | null; account?: string | null; location?: string | null; provider?: string | null; /** Starting, Running, Succeeded, Failed or Unknown. */ jobState?: string | null; createdTime?: number | null; completedTime?: number | null; completionDetails?: { [key: string]: unknown } | null; insightActions?: ({ url: string; label: string; [key: string]: unknown })[]; [key: string]: unknown }
    LoadBalancer: { name?: string | null; account?: string | null; region?: string | null; type?: string | null; cloudProvider?: string | null; loadBalancerType?: string | null; vpcId?: string | null; moniker?: components['schemas']['Moniker'] | null; /** Each with the instances that it sends traffic to. */ serverGroups?: ({ [key: string]: unknown })[] | null; instances?: (unknown)[] | null; targetGroups?: (unknown)[] | null; securityGroups?: (unknown)[] | null; insightActions?: ({ url: string; label: string; [key: string]: unknown })[]; [key: string]: unknown }
    /** A name with the load balancers that have it, by account and region. */ LoadBalancerItem: { name: string; accounts?: ({ name: string; regions?: ({ name: string; loadBalancers?: (components['schemas']['LoadBalancer'])[] | null; [key: string]: unknown })[] | null; [key: string]: unknown })[] | null; [key: string]: unknown }
    LoginSession: { id: string; /** Whether this request belongs to it. */ current: boolean; /** How the user logged in. */ method: string; /** Moment of the login, ISO 8601, UTC. */ createdAt?: string; /** To about a minute. */ lastUsedAt: string; /** Address from which the user logged in. */ address?: string; /** Browser with which the user logged in. */ userAgent?: string }
    Manifest: { account?: string | null; name?: string | null; location?: string | null; moniker?: components['schemas']['Moniker'] | null; /** The Kubernetes object. */ manifest?: { [key: string]: unknown } | null; status?: { [key: string]: unknown } | null; artifacts?: ({ [key: string]: unknown })[] | null; events?: ({ [key: string]: unknown })[] | null; warnings?: ({ [key: string]: unknown })[] | null; [key: string]: unknown }
    /** What a deployment would change in one object. */ ManifestDifference: { account: string; /** Empty for cluster-wide objects. */ namespace: string; /** `kind name`, with a space. */ name: string; change: "create" | "update" | "none" | "error"; fields: ({ /** Such as `spec.template.spec.containers[name=main].image`. */ path: string; change: "added" | "changed" | "removed"; before?: unknown; after?: unknown; [key: string]: unknown })[]; /** Why the cluster would refuse it. */ message?: string; [key: string]: unknown }
    /** Fields of a deployed object that something else has changed since. */ ManifestDrift: { account: string; /** Empty for cluster-wide objects. */ namespace: string; /** `kind name`, with a space. */ name: string; /** What has changed it, such as `kubectl-edit`; null where the cluster does not say. */ manager: string | null; /** RFC 3339. */ since: string | null; fields: (string)[]; [key: string]: unknown }
    /** Manifests to compare with a cluster; further fields are those of `deployManifest`. */ ManifestPlan: { /** Account of a provider that deploys manifests. */ account: string; /** The application that the objects are to belong to. */ application: string; /** As the stage `deployManifest` has them, without expressions. */ manifests: ({ [key: string]: unknown })[]; /** Namespace of all objects that have one. */ namespaceOverride?: string | null; [key: string]: unknown }
    /** The parts of a name such as `shop-main-v012`. */ Moniker: { app?: string | null; stack?: string | null; detail?: string | null; cluster?: string | null; sequence?: number | null; [key: string]: unknown }
    Network: { id?: string | null; name?: string | null; cloudProvider?: string | null; account?: string | null; region?: string | null; deprecated?: boolean | null; [key: string]: unknown }
    Notification: { /** email, slack, googlechat, microsoftteams, sms, pubsub, … */ type?: string | null; address?: string | null; level?: string | null; /** Such as `pipeline.failed`. */ when?: (string)[] | null; message?: { [key: string]: unknown } | null; [key: string]: unknown }
    NotificationDelivery: { id: string; /** Kind of notification: email, slack, … */ type: string; /** Of a webhook, the host alone. */ address: string; /** Such as `pipeline.failed` or `manualJudgment`. */ when: string; stageId?: string | null; status: "waiting" | "delivered" | "failed"; /** Attempts so far. */ attempts: number; acceptedTime?: number | null; changedTime?: number | null; nextAttemptTime?: number | null; /** Why the last attempt failed, or why there was none. */ reason?: string | null; [key: string]: unknown }
    NotificationKind: { notificationType: string; parameters?: ({ [key: string]: unknown })[] | null; uiType?: string | null; [key: string]: unknown }
    /** Notifications of an application, by kind. */ NotificationSettings: { application?: string | null; lastModifiedBy?: string | null; /** Milliseconds since the epoch. */ lastModified?: number | null; email?: (components['schemas']['Notification'])[] | null; slack?: (components['schemas']['Notification'])[] | null; sms?: (components['schemas']['Notification'])[] | null; googlechat?: (components['schemas']['Notification'])[] | null; microsoftteams?: (components['schemas']['Notification'])[] | null; pubsub?: (components['schemas']['Notification'])[] | null; [key: string]: unknown }
    NotificationTest: { /** Kind of notification: email, slack, … */ type: string; /** Recipient: an e-mail address, a channel, the address of a webhook, a repository. */ address?: string | null; /** Hash of a commit, for a commit status. */ commit?: string | null; [key: string]: unknown }
    NotificationTestResult: { delivered: boolean; /** Why it was not delivered. */ reason?: string | null; [key: string]: unknown }
    Parameter: { name: string; label?: string | null; description?: string | null; default?: unknown; required?: boolean | null; options?: ({ value: string; [key: string]: unknown })[] | null; [key: string]: unknown }
    /** Roles by authorization. Without any role, every user has every authorization; with one, an authorization without roles is given to administrators only, except EXECUTE, which takes the roles of `fiat.executeFallback` (READ). */ Permissions: { READ?: (string)[]; WRITE?: (string)[]; EXECUTE?: (string)[]; CREATE?: (string)[]; [key: string]: unknown }
    /** A pipeline definition; fields that are not listed are kept. */ Pipeline: { /** The application that the pipeline belongs to. */ application: string; name: string; /** Given by the store unless sent. */ id?: string; schema?: string | null; description?: string | null; /** `templatedPipeline` for one of a template. */ type?: string | null; stages?: (components['schemas']['PipelineStage'])[] | null; triggers?: (components['schemas']['PipelineTrigger'])[] | null; parameterConfig?: (components['schemas']['Parameter'])[] | null; expectedArtifacts?: (components['schemas']['ExpectedArtifact'])[] | null; notifications?: (components['schemas']['Notification'])[] | null; /** Place in the list, from 0. */ index?: number | null; disabled?: boolean | null; /** One execution at a time. */ limitConcurrent?: boolean | null; maxConcurrentExecutions?: number | null; keepWaitingPipelines?: boolean | null; /** True for a deployment strategy. */ strategy?: boolean | null; template?: { [key: string]: unknown } | null; variables?: unknown; /** Milliseconds since the epoch; set by the store. */ updateTs?: string | null; /** Set by the store. */ lastModifiedBy?: string | null; [key: string]: unknown }
    /** A stage of a definition; its settings are allowed beside these fields. */ PipelineStage: { /** Missing in a stage whose type is not chosen yet. */ type?: string | null; name?: string | null; /** By which other stages require this one. */ refId?: string | null; /** Stages that must end before. */ requisiteStageRefIds?: (string)[] | null; [key: string]: unknown }
    /** What starts a pipeline; the fields of its type are allowed beside these. */ PipelineTrigger: { /** webhook, cron, git, docker, jenkins, pipeline, pubsub, … */ type?: string | null; id?: string | null; runAsUser?: string | null; source?: string | null; cronExpression?: string | null; enabled?: boolean | null; /** Field of the payload to a regular expression for its value. */ payloadConstraints?: { [key: string]: unknown } | null; expectedArtifactIds?: (string)[] | null; [key: string]: unknown }
    Project: { id?: string; name: string; email?: string | null; lastModifiedBy?: string | null; config?: { applications?: (string)[] | null; clusters?: (components['schemas']['ProjectClusterRule'])[] | null; pipelineConfigs?: ({ application: string; pipelineConfigId: string; [key: string]: unknown })[] | null; [key: string]: unknown } | null; createTs?: number | null; updateTs?: number | null; [key: string]: unknown }
    ProjectClusterRule: { account: string; /** `*` for all. */ stack?: string | null; /** `*` for all. */ detail?: string | null; applications?: (string)[] | null; [key: string]: unknown }
    QuietPeriod: { enabled?: boolean; inQuietPeriod?: boolean; /** -1 when it is not set. */ startTime?: number; /** -1 when it is not set. */ endTime?: number; [key: string]: unknown }
    /** A Kubernetes object that fits no other list. */ RawResource: { name: string; account?: string | null; region?: string | null; namespace?: string | null; kind?: string | null; apiVersion?: string | null; displayName?: string | null; labels?: { [key: string]: unknown } | null; moniker?: components['schemas']['Moniker'] | null; [key: string]: unknown }
    /** Where to find what was started. */ Ref: { /** Path relative to the base URL: /tasks/{id} or /pipelines/{id}. */ ref: string; [key: string]: unknown }
    RemovedFormUser: { revokedTokens: number }
    ScalingActivity: { activityId?: string | null; autoScalingGroupName?: string | null; description?: string | null; cause?: string | null; statusCode?: string | null; statusMessage?: string | null; startTime?: unknown; endTime?: unknown; progress?: number | null; /** JSON as text. */ details?: string | null; [key: string]: unknown }
    SearchResultSet: { pageNumber: number; pageSize: number; totalMatches: number; query?: string | null; platform?: string | null; results: ({ type: string; provider?: string | null; [key: string]: unknown })[]; [key: string]: unknown }
    Secret: { name: string; scope: "application" | "account"; /** The application or account. */ owner: string; /** Grows with each new value. */ version: number; /** Milliseconds since the epoch. */ setTime: number; /** The user who has set the value. */ setBy: string; note?: string | null; lastUseTime?: number | null; /** False for a value that is too short or too common to be masked in texts. */ isMasked?: boolean | null; [key: string]: unknown }
    SecretUses: { name: string; /** Grows with each new value. */ version: number; /** What runs with a version at this moment. */ running: ({ /** What uses it: a stage, a build, a server group. */ place: string; /** Grows with each new value. */ version: number; count: number; isCurrent: boolean; [key: string]: unknown })[]; /** The latest uses, newest first. */ uses: ({ /** Grows with each new value. */ version: number; isCurrent: boolean; /** What uses it: a stage, a build, a server group. */ place: string; user: string; count: number; /** Milliseconds since the epoch. */ firstTime: number; /** Milliseconds since the epoch. */ lastTime: number; [key: string]: unknown })[]; [key: string]: unknown }
    SecretValue: { /** No operation returns it. */ value: string; /** For people, who can read it. */ note?: string | null; [key: string]: unknown }
    SecurityGroup: { id?: string | null; type?: string | null; cloudProvider?: string | null; accountName?: string | null; region?: string | null; application?: string | null; description?: string | null; vpcId?: string | null; name: string; moniker?: components['schemas']['Moniker'] | null; inboundRules?: ({ [key: string]: unknown })[] | null; outboundRules?: ({ [key: string]: unknown })[] | null; [key: string]: unknown }
    /** Equal instances that are deployed together. */ ServerGroup: { name: string; account?: string | null; type?: string | null; cloudProvider?: string | null; cluster?: string | null; application?: string | null; instanceType?: string | null; vpcId?: string | null; region: string; moniker?: components['schemas']['Moniker'] | null; createdTime?: number | null; /** Takes no traffic. */ isDisabled?: boolean | null; disabled?: boolean | null; capacity?: components['schemas']['Capacity'] | null; instanceCounts?: components['schemas']['InstanceCounts'] | null; instances?: (components['schemas']['Instance'])[] | null; loadBalancers?: (unknown)[] | null; securityGroups?: (unknown)[] | null; zones?: (string)[] | null; buildInfo?: { [key: string]: unknown } | null; image?: { [key: string]: unknown } | null; launchConfig?: { [key: string]: unknown } | null; labels?: { [key: string]: unknown } | null; serverGroupManagers?: ({ [key: string]: unknown })[] | null; insightActions?: ({ url: string; label: string; [key: string]: unknown })[]; [key: string]: unknown }
    ServerGroupEvent: { description?: string | null; cause?: string | null; statusCode?: string | null; statusMessage?: string | null; activityId?: string | null; [key: string]: unknown }
    /** What replaces server groups by newer ones, such as a Kubernetes deployment. */ ServerGroupManager: { name: string; account?: string | null; region?: string | null; namespace?: string | null; kind?: string | null; moniker?: components['schemas']['Moniker'] | null; serverGroups?: ({ [key: string]: unknown })[] | null; [key: string]: unknown }
    /** A stage of an execution. */ Stage: { id: string; refId?: string | null; name?: string | null; parentStageId?: string | null; type: string; status: components['schemas']['ExecutionStatus']; startTime?: number | null; endTime?: number | null; startTimeExpiry?: number | null; scheduledTime?: number | null; /** Settings, results and errors of the stage. */ context: { [key: string]: unknown }; /** What later stages may read. */ outputs: { [key: string]: unknown }; tasks: (components['schemas']['TaskStep'])[]; requisiteStageRefIds?: (string)[] | null; syntheticStageOwner?: "STAGE_BEFORE" | "STAGE_AFTER" | null; lastModified?: { [key: string]: unknown } | null; [key: string]: unknown }
    StageField: { /** Key in the stage, or in the object that it belongs to. */ name: string; /** text, long-text, number, moment, flag, choice, texts, objects, object, map or json. */ kind: string; required: boolean; /** What the engine takes without the field. */ default?: unknown; /** Values to offer. */ choices?: (string)[]; /** Other values are errors. */ onlyChoices: boolean; /** What the values are names of: accounts, clusters, pipelines, and so on. */ choicesFrom?: string; help: string; /** Whether an expression in it is evaluated when the stage runs. */ expression: boolean; /** Keys with the same meaning. */ otherNames?: (string)[]; /** Of the object, or of each object of the list: fields as this one. */ fields?: ({ [key: string]: unknown })[]; [key: string]: unknown }
    StageTypes: { engine: "embedded" | "external"; /** False with an external engine: it may know other types and fields. */ verified: boolean; /** Fields of every stage. */ commonFields: (components['schemas']['StageField'])[]; stageTypes: ({ type: string; label: string; group: string; description: string; /** Where it is meant to run: as a stage of pipelines, or as a job of tasks. */ use: "pipeline" | "task" | "both"; restartable: boolean; /** Whether users may let it end early while it runs. */ skippable: boolean; /** The key that does so, or allows it. */ skipKey?: string; /** Whether this instance can run it. Absent where it is not known. */ runsHere?: boolean; /** Why it does not run here, and what an operator can do. */ reason?: string; fields: (components['schemas']['StageField'])[]; [key: string]: unknown })[]; [key: string]: unknown }
    /** Fields that replace those of the context of a stage. */ StageUpdate: { /** `continue` or `stop`, for a manual judgment. */ judgmentStatus?: string; judgmentInput?: string; /** For a wait. */ skipRemainingWait?: boolean; manualSkip?: boolean; [key: string]: unknown }
    /** The trigger of a start by hand; everything is optional. */ StartRequest: { /** `manual` unless given. */ type?: string; user?: string | null; /** Values of the parameters of the pipeline. */ parameters?: { [key: string]: unknown } | null; artifacts?: (components['schemas']['Artifact'])[] | null; notifications?: (components['schemas']['Notification'])[] | null; dryRun?: boolean | null; /** A second start with the same one is the first while that runs. */ correlationId?: string | null; [key: string]: unknown }
    Subscription: { pubsubSystem: string; subscriptionName: string; [key: string]: unknown }
    /** Work that belongs to no pipeline. */ Task: { id: string; name?: string | null; application: string; status: components['schemas']['ExecutionStatus']; buildTime?: number | null; startTime?: number | null; endTime?: number | null; steps: (components['schemas']['TaskStep'])[]; /** Results; `exception` has the error. */ variables: ({ key: string; value: unknown; [key: string]: unknown })[]; execution?: components['schemas']['Execution'] | null; [key: string]: unknown }
    TaskFinding: { /** Position of the job, from 0. Absent where it concerns the task as a whole. */ job?: number; /** Name of the stage: of the job, or of one that the job adds. */ stage?: string; /** Path of a field of the job. */ field?: string; message: string; [key: string]: unknown }
    /** What a task does; the fields of its type are allowed beside these. */ TaskJob: { /** createApplication, updateApplication, deleteApplication, upsertProject, resizeServerGroup, … */ type: string; user?: string; reason?: string; [key: string]: unknown }
    /** What would become of a task. */ TaskJudgement: { engine: "embedded" | "external"; /** `refused`: the task would fail as things are now. `depends`: see `open`. */ decision: "accepted" | "refused" | "depends"; /** What the task would fail for. */ objections: (components['schemas']['TaskFinding'])[]; /** What is known only once the task runs. */ open: (components['schemas']['TaskFinding'])[]; /** What the task would do, in order, as far as it gets. */ effects: ({ job: number; stage: string; type: string; /** What the stage does, where it is no operation of the infrastructure. */ message?: string; operation?: string; account?: string; region?: string; /** Names of server groups, instances and the like. */ objects?: (string)[]; /** Of the server group afterwards. */ capacity?: { [key: string]: unknown }; [key: string]: unknown })[]; [key: string]: unknown }
    TaskRequest: { /** The application whose task it is. */ application: string; /** Becomes the name of the task. */ description: string; /** Done one after the other. */ job: (components['schemas']['TaskJob'])[]; [key: string]: unknown }
    /** A step of a stage. */ TaskStep: { id: string; name: string; implementingClass?: string | null; status: components['schemas']['ExecutionStatus']; startTime?: number | null; endTime?: number | null; stageStart?: boolean | null; stageEnd?: boolean | null; loopStart?: boolean | null; loopEnd?: boolean | null; taskExceptionDetails?: { [key: string]: unknown } | null; [key: string]: unknown }
    /** A cluster that must never be without a server group that takes traffic. */ TrafficGuard: { account?: string | null; location?: string | null; stack?: string | null; detail?: string | null; enabled?: boolean | null; [key: string]: unknown }
    /** What started an execution. */ Trigger: { type: string; user?: string | null; /** Values of the parameters of the pipeline. */ parameters?: { [key: string]: unknown } | null; artifacts?: (components['schemas']['Artifact'])[] | null; notifications?: (components['schemas']['Notification'])[] | null; dryRun?: boolean | null; /** A second start with the same one is the first while that runs. */ correlationId?: string | null; rebake?: boolean | null; strategy?: boolean | null; eventId?: string | null; payload?: unknown; /** The execution that started this one, as it was then. */ parentExecution?: { [key: string]: unknown } | null; [key: string]: unknown }
    TriggerEvent: { id: string; time: number; /** git, docker, build, webhook, cron, pipeline, … */ type: string; /** Such as `github`, or `poll`. */ source: string; outcome: "started" | "nothing" | "failed"; /** Repository, branch, commit, tag, … */ summary: { [key: string]: unknown }; /** Part of the body of a webhook, without what proves its sender. */ payload?: { [key: string]: unknown } | null; /** Why the event failed, or why no trigger waits for it. */ reason?: string | null; /** Triggers that wait for such events; the first 50 of them. */ triggers: (components['schemas']['TriggerOutcome'])[]; [key: string]: unknown }
    /** What became of an event for one trigger that waits for such events. */ TriggerOutcome: { application: string; pipelineId: string; /** Name of the pipeline. */ pipeline: string; /** Type of the trigger: git, docker, webhook, … */ trigger: string; /** The run that was started. */ executionId?: string | null; /** Why nothing was started, or why the run could not begin. */ reason?: string | null; [key: string]: unknown }
    Variable: { key: string; value: unknown; description?: string; [key: string]: unknown }
    VariablesEvaluation: { result?: (components['schemas']['Variable'])[]; detail?: { [key: string]: unknown } | null; [key: string]: unknown }
  }
}
