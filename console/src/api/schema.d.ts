/** The API of Fairlead. Printed by `npm run docs` from the OpenAPI document; change the operations instead. */

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
  '/pipelines/move': {
    /** Rename a pipeline */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['DefinitionMove'] } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/strategyConfigs': {
    /** List strategies of an application */ get: { parameters: { path: { application: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Pipeline'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/strategyConfigs/{strategyName}': {
    /** Get a strategy */ get: { parameters: { path: { application: string; strategyName: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Pipeline'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
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
  '/executions/activeByInstance': {
    /** Count executions by instance */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': { [key: string]: components['schemas']['ActiveExecutions'] } } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelines/{id}/logs': {
    /** Get logs of an execution */ get: { parameters: { path: { id: string } }; responses: { 200: { content: { 'application/json': (unknown)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelines/{id}/cancel': {
    /** Cancel an execution */ put: { parameters: { query?: { reason?: string; force?: boolean }; path: { id: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/pipelines/{id}/cancel': {
    /** Cancel an execution (older address) */ put: { parameters: { query?: { reason?: string }; path: { application: string; id: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
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
  '/pipelines/{id}/evaluateExpression': {
    /** Evaluate an expression */ get: { parameters: { query: { expression: string }; path: { id: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Evaluation'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Evaluate an expression */ head: { parameters: { query: { expression: string }; path: { id: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Evaluate an expression */ post: { parameters: { query?: { expression?: string }; path: { id: string } }; requestBody?: { content: { 'application/json': components['schemas']['ExpressionRequest'] } }; responses: { 200: { content: { 'application/json': components['schemas']['Evaluation'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Evaluate an expression */ put: { parameters: { query: { expression: string }; path: { id: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Evaluation'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Evaluate an expression */ patch: { parameters: { query: { expression: string }; path: { id: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Evaluation'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Evaluate an expression */ delete: { parameters: { query: { expression: string }; path: { id: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Evaluation'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Evaluate an expression */ options: { parameters: { query?: { expression?: string }; path: { id: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Evaluation'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/tasks': {
    /** List tasks of an application */ get: { parameters: { query?: { page?: number; limit?: number; statuses?: string }; path: { application: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Task'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Submit a task to an application */ post: { parameters: { path: { application: string } }; requestBody: { content: { 'application/json': components['schemas']['TaskRequest'] } }; responses: { 200: { content: { 'application/json': components['schemas']['Ref'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/tasks/{id}': {
    /** Get a task (older address) */ get: { parameters: { path: { application: string; id: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Task'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/tasks/{id}/cancel': {
    /** Cancel a task (older address) */ put: { parameters: { path: { application: string; id: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/tasks/{id}/details/{taskDetailsId}': {
    /** Get a cloud operation (older address) */ get: { parameters: { path: { application: string; id: string; taskDetailsId: string } }; responses: { 200: { content: { 'application/json': components['schemas']['CloudOperation'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/tasks': {
    /** Submit a task */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['TaskRequest'] } }; responses: { 200: { content: { 'application/json': components['schemas']['Ref'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/tasks/{id}': {
    /** Get a task */ get: { parameters: { path: { id: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Task'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Delete a task */ delete: { parameters: { path: { id: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/tasks/{id}/cancel': {
    /** Cancel a task */ put: { parameters: { path: { id: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/tasks/cancel': {
    /** Cancel several tasks */ put: { parameters: { query: { ids: (string)[] } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/tasks/{id}/details/{taskDetailsId}': {
    /** Get a cloud operation */ get: { parameters: { path: { id: string; taskDetailsId: string } }; responses: { 200: { content: { 'application/json': components['schemas']['CloudOperation'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/projects/{id}/pipelines': {
    /** List executions of a project */ get: { parameters: { query?: { limit?: number; statuses?: string }; path: { id: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Execution'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/clusters': {
    /** List clusters of an application */ get: { parameters: { path: { application: string } }; responses: { 200: { content: { 'application/json': { [key: string]: (string)[] } } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/clusters/{account}': {
    /** List clusters in an account */ get: { parameters: { path: { application: string; account: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Cluster'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/clusters/{account}/{clusterName}': {
    /** Get a cluster */ get: { parameters: { path: { application: string; account: string; clusterName: string } }; responses: { 200: { content: { 'application/json': components['schemas']['FoundCluster'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/clusters/{account}/{clusterName}/{type}/loadBalancers': {
    /** List load balancers of a cluster */ get: { parameters: { path: { application: string; account: string; clusterName: string; type: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['LoadBalancer'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/clusters/{account}/{clusterName}/serverGroups': {
    /** List server groups of a cluster */ get: { parameters: { path: { application: string; account: string; clusterName: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['ServerGroup'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/clusters/{account}/{clusterName}/serverGroups/{serverGroupName}': {
    /** List server groups by name */ get: { parameters: { path: { application: string; account: string; clusterName: string; serverGroupName: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['ServerGroup'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/clusters/{account}/{clusterName}/serverGroups/{serverGroupName}/scalingActivities': {
    /** List scaling activities */ get: { parameters: { query?: { provider?: string; region?: string }; path: { application: string; account: string; clusterName: string; serverGroupName: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['ScalingActivity'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/clusters/{account}/{clusterName}/{cloudProvider}/{scope}/serverGroups/target/{target}': {
    /** Find a server group by target */ get: { parameters: { query?: { onlyEnabled?: boolean; validateOldest?: boolean }; path: { application: string; account: string; clusterName: string; cloudProvider: string; scope: string; target: string } }; responses: { 200: { content: { 'application/json': components['schemas']['ServerGroup'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
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
    /** Get console output */ get: { parameters: { query?: { provider?: string; tail?: number; offset?: number }; path: { account: string; region: string; instanceId: string } }; responses: { 200: { content: { 'application/json': components['schemas']['ConsoleOutput'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
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
  '/loadBalancers/{name}': {
    /** Find a load balancer by name */ get: { parameters: { query?: { provider?: string }; path: { name: string } }; responses: { 200: { content: { 'application/json': components['schemas']['LoadBalancerItem'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
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
  '/securityGroups/{account}': {
    /** List security groups of an account */ get: { parameters: { query?: { provider?: string; region?: string }; path: { account: string } }; responses: { 200: { content: { 'application/json': unknown } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/securityGroups/{account}/{region}/{name}': {
    /** Get a security group */ get: { parameters: { query?: { provider?: string; vpcId?: string }; path: { account: string; region: string; name: string } }; responses: { 200: { content: { 'application/json': components['schemas']['SecurityGroup'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/instanceTypes': {
    /** List instance types */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['InstanceType'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/subnets': {
    /** List AWS subnets */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['Subnet'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/vpcs': {
    /** List AWS virtual networks */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['Network'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/subnets/{cloudProvider}': {
    /** List subnets of a provider */ get: { parameters: { path: { cloudProvider: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Subnet'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/networks': {
    /** List networks by provider */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': { [key: string]: (components['schemas']['Network'])[] } } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/networks/{cloudProvider}': {
    /** List networks of a provider */ get: { parameters: { path: { cloudProvider: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Network'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/images/find': {
    /** Search images */ get: { parameters: { query?: { provider?: string; q?: string; region?: string; account?: string; count?: number } }; responses: { 200: { content: { 'application/json': (components['schemas']['Image'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/images/tags': {
    /** List tags of an image */ get: { parameters: { query: { provider?: string; account: string; repository: string } }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/images/{account}/{region}/{imageId}': {
    /** Get an image */ get: { parameters: { query?: { provider?: string }; path: { account: string; region: string; imageId: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Image'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/bakery/options': {
    /** List bake options */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['BakeOptions'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/bakery/options/{cloudProvider}': {
    /** Get bake options of a provider */ get: { parameters: { path: { cloudProvider: string } }; responses: { 200: { content: { 'application/json': components['schemas']['BakeOptions'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/bakery/logs/{region}/{statusId}': {
    /** Get the log of a bake */ get: { parameters: { path: { region: string; statusId: string } }; responses: { 200: { content: { 'application/json': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/builds': {
    /** List build servers */ get: { parameters: { query?: { type?: string } }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/builds/{buildMaster}/jobs': {
    /** List jobs of a build server */ get: { parameters: { path: { buildMaster: string } }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/builds/{buildMaster}/jobs/{rest}': {
    /** Get a build job */ get: { parameters: { path: { buildMaster: string; rest: string } }; responses: { 200: { content: { 'application/json': components['schemas']['BuildJob'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/builds/{buildMaster}/builds/{rest}': {
    /** List builds of a job */ get: { parameters: { path: { buildMaster: string; rest: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Build'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/builds/{buildMaster}/build/{number}/{rest}': {
    /** Get a build */ get: { parameters: { path: { buildMaster: string; number: string; rest: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Build'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/credentials': {
    /** List accounts */ get: { parameters: { query?: { expand?: boolean } }; responses: { 200: { content: { 'application/json': (components['schemas']['Account'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Create an account definition */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['AccountDefinition'] } }; responses: { 200: { content: { 'application/json': components['schemas']['AccountDefinition'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Update an account definition */ put: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['AccountDefinition'] } }; responses: { 200: { content: { 'application/json': components['schemas']['AccountDefinition'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/credentials/{account}': {
    /** Get an account */ get: { parameters: { path: { account: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Account'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Delete an account definition */ delete: { parameters: { path: { account: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/search': {
    /** Search */ get: { parameters: { query: { q?: string; type: (string)[]; platform?: string; pageSize?: number; page?: number; allowShortQuery?: boolean } }; responses: { 200: { content: { 'application/json': (components['schemas']['SearchResultSet'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/snapshots/{account}': {
    /** Get the latest snapshot */ get: { parameters: { path: { application: string; account: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Snapshot'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/snapshots/{account}/history': {
    /** List snapshots */ get: { parameters: { query?: { limit?: number }; path: { application: string; account: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Snapshot'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/user': {
    /** Get the current user */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': components['schemas']['CurrentUser'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/user/serviceAccounts': {
    /** List usable service accounts */ get: { parameters: { query?: { application?: string } }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/loggedOut': {
    /** Show the logout page */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/redirect': {
    /** Return to the web UI */ get: { parameters: { query: { to: string } }; responses: { default: { content: { 'application/json': components['schemas']['Error'] } } } }
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
  '/pipelineConfigs/{pipelineConfigId}/convertToTemplate': {
    /** Convert a pipeline to a template */ get: { parameters: { path: { pipelineConfigId: string } }; responses: { 200: { content: { 'application/json': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelines/bulksave': {
    /** Save several pipelines */ post: { parameters: { query?: { application?: string } }; requestBody: { content: { 'application/json': components['schemas']['BulksavePipelineBody'] } }; responses: { 200: { content: { 'application/json': components['schemas']['BulkSaveResult'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/strategyConfigs': {
    /** List all strategies */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['Pipeline'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/strategyConfigs/{strategyConfigId}/history': {
    /** List revisions of a strategy */ get: { parameters: { query?: { limit?: number }; path: { strategyConfigId: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Pipeline'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/strategies': {
    /** Save a strategy */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['Pipeline'] } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/strategies/move': {
    /** Rename a strategy */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['DefinitionMove'] } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/strategies/{id}': {
    /** Update a strategy */ put: { parameters: { path: { id: string } }; requestBody: { content: { 'application/json': components['schemas']['Pipeline'] } }; responses: { 200: { content: { 'application/json': components['schemas']['Pipeline'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/strategies/{application}/{strategyName}': {
    /** Delete a strategy */ delete: { parameters: { path: { application: string; strategyName: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/actions/pipelines/reorder': {
    /** Reorder pipelines */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['DefinitionOrder'] } }; responses: { 200: { content: { 'application/json': components['schemas']['Task'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/actions/strategies/reorder': {
    /** Reorder strategies */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['DefinitionOrder'] } }; responses: { 200: { content: { 'application/json': components['schemas']['Task'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelines/v2/{application}/{pipelineNameOrId}': {
    /** Start a pipeline in the background */ post: { parameters: { path: { application: string; pipelineNameOrId: string } }; requestBody?: { content: { 'application/json': components['schemas']['StartRequest'] } }; responses: { 202: { content: { 'application/json': { eventId: string; /** /pipelines/{execution id} */ ref: string } } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/executions/search': {
    /** Search executions */ get: { parameters: { query?: { triggerTypes?: string; pipelineName?: string; eventId?: string; trigger?: string; triggerTimeStartBoundary?: string; triggerTimeEndBoundary?: string; user?: string; statuses?: string; startIndex?: number; size?: number; reverse?: boolean; expand?: boolean }; path: { application: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Execution'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/executions/failedStages': {
    /** List failed stages */ get: { parameters: { query: { executionId: string; deckOrigin?: string; limit?: number } }; responses: { 200: { content: { 'application/json': (components['schemas']['FailedStage'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/executions/{id}/events': {
    /** Follow an execution */ get: { parameters: { path: { id: string } }; responses: { 200: { content: { 'text/event-stream': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/executions/events': {
    /** Follow executions of an application */ get: { parameters: { path: { application: string } }; responses: { 200: { content: { 'text/event-stream': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelines/{id}/{stageId}/evaluateExpression': {
    /** Evaluate an expression at a stage */ get: { parameters: { query: { expression: string }; path: { id: string; stageId: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Evaluation'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelines/{id}/evaluateVariables': {
    /** Evaluate variables */ post: { parameters: { query?: { executionId?: string; requisiteStageRefIds?: string; spelVersion?: string }; path: { id: string } }; requestBody: { content: { 'application/json': components['schemas']['EvaluateVariablesBody'] } }; responses: { 200: { content: { 'application/json': components['schemas']['VariablesEvaluation'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/tasks/judge': {
    /** Judge a task without running it */ post: { parameters: { path: { application: string } }; requestBody: { content: { 'application/json': components['schemas']['TaskRequest'] } }; responses: { 200: { content: { 'application/json': components['schemas']['TaskJudgement'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/tasks/{id}/events': {
    /** Follow a task */ get: { parameters: { path: { id: string } }; responses: { 200: { content: { 'text/event-stream': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/projects': {
    /** List projects */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['Project'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/projects/{id}': {
    /** Get a project */ get: { parameters: { path: { id: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Project'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/projects/{id}/clusters': {
    /** List clusters of a project */ get: { parameters: { path: { id: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['ProjectCluster'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/serverGroupManagers': {
    /** List server group managers */ get: { parameters: { path: { application: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['ServerGroupManager'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/rawResources': {
    /** List raw resources */ get: { parameters: { path: { application: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['RawResource'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/functions': {
    /** List functions of an application */ get: { parameters: { path: { application: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['CloudFunction'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/applications/{application}/serverGroups/{account}/{serverGroupName}/events': {
    /** List events of a server group */ get: { parameters: { query: { region: string; provider: string }; path: { application: string; account: string; serverGroupName: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['ServerGroupEvent'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/functions': {
    /** List serverless functions */ get: { parameters: { query?: { functionName?: string; region?: string; account?: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['CloudFunction'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/serverGroups': {
    /** Find server groups */ get: { parameters: { query?: { applications?: (string)[]; ids?: (string)[]; cloudProvider?: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['ServerGroup'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/manifests/{account}/{location}/{name}': {
    /** Get a Kubernetes object */ get: { parameters: { path: { account: string; location: string; name: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Manifest'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/keyPairs': {
    /** List key pairs */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['KeyPair'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/certificates': {
    /** List certificates */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['Certificate'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/certificates/{cloudProvider}': {
    /** List certificates of a provider */ get: { parameters: { path: { cloudProvider: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Certificate'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/roles/{cloudProvider}': {
    /** List roles of a provider */ get: { parameters: { path: { cloudProvider: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['CloudRole'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/cloudMetrics/{cloudProvider}/{account}/{region}': {
    /** List metrics of a region */ get: { parameters: { path: { cloudProvider: string; account: string; region: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['CloudMetric'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/cloudMetrics/{cloudProvider}/{account}/{region}/{metricName}/statistics': {
    /** Get values of a metric */ get: { parameters: { query?: { startTime?: string; endTime?: string }; path: { cloudProvider: string; account: string; region: string; metricName: string } }; responses: { 200: { content: { 'application/json': { unit?: string | null; datapoints?: ({ [key: string]: unknown })[] | null; [key: string]: unknown } } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/storage': {
    /** List storage accounts */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/firewalls': {
    /** List security groups */ get: { parameters: { query?: { id?: string } }; responses: { 200: { content: { 'application/json': unknown } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/firewalls/{account}': {
    /** List security groups of an account */ get: { parameters: { query?: { provider?: string; region?: string }; path: { account: string } }; responses: { 200: { content: { 'application/json': unknown } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/firewalls/{account}/{region}/{name}': {
    /** Get a security group */ get: { parameters: { query?: { provider?: string; vpcId?: string }; path: { account: string; region: string; name: string } }; responses: { 200: { content: { 'application/json': components['schemas']['SecurityGroup'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/firewalls/{account}/{region}': {
    /** List firewalls of a region */ get: { parameters: { query?: { provider?: string }; path: { account: string; region: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['SecurityGroupSummary'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/local/images': {
    /** List images of this machine */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['Image'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/local/images/{name}/{version}': {
    /** Get an image of this machine */ get: { parameters: { path: { name: string; version: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Image'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Upload an image */ put: { parameters: { query?: { accounts?: string; regions?: string }; path: { name: string; version: string } }; requestBody: { content: { 'application/x-tar': string } }; responses: { 201: { content: { 'application/json': components['schemas']['Image'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Delete an image of this machine */ delete: { parameters: { query?: { accounts?: string }; path: { name: string; version: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/charts/find': {
    /** Search charts */ get: { parameters: { query?: { provider?: string; q?: string; region?: string; account?: string; count?: number } }; responses: { 200: { content: { 'application/json': (components['schemas']['Chart'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/charts/tags': {
    /** List versions of a chart */ get: { parameters: { query: { provider?: string; account: string; repository: string } }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/charts/{account}/{region}/{imageId}': {
    /** Get a chart */ get: { parameters: { query?: { provider?: string }; path: { account: string; region: string; imageId: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Chart'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v3/builds': {
    /** List build hosts */ get: { parameters: { query?: { type?: string } }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v3/builds/{buildMaster}/jobs': {
    /** List jobs of a build host */ get: { parameters: { path: { buildMaster: string } }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v3/builds/{buildMaster}/job': {
    /** Get a build job */ get: { parameters: { query: { job: string }; path: { buildMaster: string } }; responses: { 200: { content: { 'application/json': components['schemas']['BuildJob'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v3/builds/{buildMaster}/builds': {
    /** List builds of a job */ get: { parameters: { query: { job: string }; path: { buildMaster: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Build'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v3/builds/{buildMaster}/build/{number}': {
    /** Get a build */ get: { parameters: { query: { job: string }; path: { buildMaster: string; number: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Build'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/artifactory/names': {
    /** List Artifactory servers */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/nexus/names': {
    /** List Nexus servers */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/codebuild/accounts': {
    /** List CodeBuild accounts */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/codebuild/projects/{account}': {
    /** List CodeBuild projects */ get: { parameters: { path: { account: string } }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/gcb/accounts': {
    /** List Cloud Build accounts */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/gcb/triggers/{account}': {
    /** List Cloud Build triggers */ get: { parameters: { path: { account: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['CloudBuildTrigger'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/concourse/{buildMaster}/teams': {
    /** List Concourse teams */ get: { parameters: { path: { buildMaster: string } }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/concourse/{buildMaster}/teams/{team}/pipelines': {
    /** List Concourse pipelines */ get: { parameters: { path: { buildMaster: string; team: string } }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/concourse/{buildMaster}/teams/{team}/pipelines/{pipeline}/jobs': {
    /** List Concourse jobs */ get: { parameters: { path: { buildMaster: string; team: string; pipeline: string } }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/concourse/{buildMaster}/teams/{team}/pipelines/{pipeline}/resources': {
    /** List Concourse resources */ get: { parameters: { path: { buildMaster: string; team: string; pipeline: string } }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/ci/builds': {
    /** List builds of a repository */ get: { parameters: { query?: { projectKey?: string; repoSlug?: string; completionStatus?: string; buildNumber?: string; commitId?: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['Build'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/ci/builds/{buildId}/output': {
    /** Get the log of a build */ get: { parameters: { path: { buildId: string } }; responses: { 200: { content: { 'application/json': { log?: string | null; [key: string]: unknown } } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/concourse/stage/start': {
    /** Report a Concourse build */ post: { parameters: { query: { stageId: string; job: string; buildNumber: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/artifacts/credentials': {
    /** List artifact accounts */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['ArtifactAccount'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/artifacts/fetch': {
    /** Fetch an artifact */ put: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['Artifact'] } }; responses: { 200: { content: { 'application/octet-stream': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/artifacts/account/{accountName}/names': {
    /** List artifacts of an account */ get: { parameters: { query: { type: string }; path: { accountName: string } }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/artifacts/account/{accountName}/versions': {
    /** List versions of an artifact */ get: { parameters: { query: { type: string; artifactName: string }; path: { accountName: string } }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/artifacts/{provider}/{packageName}': {
    /** List versions of a package */ get: { parameters: { query?: { releaseStatus?: string }; path: { provider: string; packageName: string } }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/artifacts/{provider}/{packageName}/{version}': {
    /** Get a version of a package */ get: { parameters: { path: { provider: string; packageName: string; version: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Artifact'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/artifacts/content-address/{application}/{hash}': {
    /** Get a stored artifact */ get: { parameters: { path: { application: string; hash: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Artifact'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/credentials/type/{accountType}': {
    /** List account definitions */ get: { parameters: { query?: { limit?: number; startingAccountName?: string }; path: { accountType: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['AccountDefinition'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/rawUser': {
    /** Get the user without permissions */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': components['schemas']['UserIdentity'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/logout': {
    /** Log out */ get: { parameters: {  }; responses: { default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Log out */ post: { parameters: {  }; responses: { default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Log out */ put: { parameters: {  }; responses: { default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Log out */ delete: { parameters: {  }; responses: { default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/deleteSessionCache': {
    /** End all sessions */ post: { parameters: {  }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/': {
    /** Open the web UI */ get: { parameters: {  }; responses: { default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/explain': {
    /** Explain access to an operation */ get: { parameters: { query: { operation: string; application?: string; account?: string; buildService?: string; serviceAccount?: string; username?: string } }; responses: { 200: { content: { 'application/json': components['schemas']['AccessExplanation'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
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
  '/admin': {
    /** Check for administrator */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': { username: string; isAdmin: boolean } } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/admin/executions/forceCancel': {
    /** Force-cancel an execution */ put: { parameters: { query: { executionId: string; executionType?: "PIPELINE" | "ORCHESTRATION" } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/admin/executions/hydrate': {
    /** Requeue an execution */ post: { parameters: { query: { executionId: string; dryRun?: boolean } }; responses: { 200: { content: { 'application/json': components['schemas']['Hydration'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/apiTokens': {
    /** List API tokens */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['ApiToken'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Create an API token */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['ApiTokenRequest'] } }; responses: { 201: { content: { 'application/json': components['schemas']['IssuedApiToken'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/apiTokens/admin/users': {
    /** List API tokens of all users */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['ApiToken'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/apiTokens/serviceAccounts': {
    /** List service accounts for tokens */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['ServiceAccount'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/apiTokens/{id}/rotate': {
    /** Rotate an API token */ post: { parameters: { path: { id: string } }; requestBody?: { content: { 'application/json': components['schemas']['ApiTokenRotation'] } }; responses: { 200: { content: { 'application/json': components['schemas']['IssuedApiToken'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/auth/apiTokens/{id}': {
    /** Revoke an API token */ delete: { parameters: { path: { id: string } }; responses: { 204: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/webhooks/{type}/{source}': {
    /** Receive a webhook */ post: { parameters: { path: { type: string; source: string } }; requestBody?: { content: { 'application/json': components['schemas']['WebhooksBody'] } }; responses: { 200: { content: { 'application/json': components['schemas']['WebhookAnswer'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/webhooks/cdevents/{source}': {
    /** Receive a CloudEvent */ post: { parameters: { path: { source: string } }; requestBody?: { content: { 'application/json': components['schemas']['Webhooks1Body'] } }; responses: { 200: { content: { 'application/json': components['schemas']['WebhookAnswer'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/webhooks/preconfigured': {
    /** List preconfigured webhook stages */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['PreconfiguredStage'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/jobs/preconfigured': {
    /** List preconfigured job stages */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['PreconfiguredStage'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/cron/validate': {
    /** Validate a cron expression */ get: { parameters: { query: { expression: string } }; responses: { 200: { content: { 'application/json': components['schemas']['CronVerdict'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/notifications/{type}/{application}': {
    /** Get notification settings */ get: { parameters: { path: { type: string; application: string } }; responses: { 200: { content: { 'application/json': components['schemas']['NotificationSettings'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Save notification settings */ post: { parameters: { path: { type: string; application: string } }; requestBody: { content: { 'application/json': components['schemas']['NotificationSettings'] } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Delete notification settings */ delete: { parameters: { path: { type: string; application: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/notifications/metadata': {
    /** List kinds of notification */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['NotificationKind'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/notifications/callbacks/{source}': {
    /** Receive a chat callback */ post: { parameters: { path: { source: string } }; requestBody?: { content: { 'application/x-www-form-urlencoded': unknown } }; responses: { 200: { content: { 'application/json': unknown } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/capabilities/deploymentMonitors': {
    /** List deployment monitors */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['DeploymentMonitor'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/capabilities/expressions': {
    /** List functions of expressions */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': components['schemas']['ExpressionCapabilities'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/capabilities/stageTypes': {
    /** List stage types */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': components['schemas']['StageTypes'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/capabilities/quietPeriod': {
    /** Get the quiet period */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': components['schemas']['QuietPeriod'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pubsub/subscriptions': {
    /** List message subscriptions */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['Subscription'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelineTemplates': {
    /** List version-1 templates */ get: { parameters: { query?: { scopes?: (string)[] } }; responses: { 200: { content: { 'application/json': (components['schemas']['PipelineTemplate'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Create a version-1 template */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['PipelineTemplate'] } }; responses: { 202: { content: { 'application/json': components['schemas']['Ref'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelineTemplates/resolve': {
    /** Resolve a template */ get: { parameters: { query: { source: string; executionId?: string; pipelineConfigId?: string } }; responses: { 200: { content: { 'application/json': components['schemas']['PipelineTemplate'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelineTemplates/{id}': {
    /** Get a version-1 template */ get: { parameters: { path: { id: string } }; responses: { 200: { content: { 'application/json': components['schemas']['PipelineTemplate'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Update a version-1 template */ post: { parameters: { query?: { skipPlanDependents?: boolean }; path: { id: string } }; requestBody: { content: { 'application/json': components['schemas']['PipelineTemplate'] } }; responses: { 202: { content: { 'application/json': components['schemas']['Ref'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Delete a version-1 template */ delete: { parameters: { query?: { application?: string }; path: { id: string } }; responses: { 202: { content: { 'application/json': components['schemas']['Ref'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pipelineTemplates/{id}/dependents': {
    /** List pipelines of a version-1 template */ get: { parameters: { query?: { recursive?: boolean }; path: { id: string } }; responses: { 200: { content: { 'application/json': ({ application: unknown; pipelineConfigId: unknown; pipelineName: unknown })[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/pipelineTemplates': {
    /** List templates */ get: { parameters: { query?: { scopes?: (string)[] } }; responses: { 200: { content: { 'application/json': (components['schemas']['PipelineTemplate'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/pipelineTemplates/versions': {
    /** List versions of templates */ get: { parameters: { query?: { scopes?: (string)[] } }; responses: { 200: { content: { 'application/json': { [key: string]: (components['schemas']['PipelineTemplate'])[] } } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/pipelineTemplates/plan': {
    /** Plan a templated pipeline */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['AnyObject'] } }; responses: { 200: { content: { 'application/json': components['schemas']['PlannedPipeline'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/pipelineTemplates/create': {
    /** Create a template */ post: { parameters: { query?: { tag?: string } }; requestBody: { content: { 'application/json': components['schemas']['PipelineTemplate'] } }; responses: { 202: { content: { 'application/json': components['schemas']['Task'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/pipelineTemplates/update/{id}': {
    /** Update a template */ post: { parameters: { query?: { tag?: string; skipPlanDependents?: boolean }; path: { id: string } }; requestBody: { content: { 'application/json': components['schemas']['PipelineTemplate'] } }; responses: { 202: { content: { 'application/json': components['schemas']['Task'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/pipelineTemplates/{id}': {
    /** Get a template */ get: { parameters: { query?: { tag?: string; digest?: string }; path: { id: string } }; responses: { 200: { content: { 'application/json': components['schemas']['PipelineTemplate'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Delete a template */ delete: { parameters: { query?: { tag?: string; digest?: string; application?: string }; path: { id: string } }; responses: { 202: { content: { 'application/json': components['schemas']['Task'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/pipelineTemplates/{id}/dependents': {
    /** List pipelines of a template */ get: { parameters: { path: { id: string } }; responses: { 200: { content: { 'application/json': ({ application: unknown; pipelineConfigId: unknown; pipelineName: unknown })[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/tags': {
    /** List entity tags */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['EntityTags'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Tag an entity */ post: { parameters: { query: { entityId: string; entityType: string; cloudProvider: string; application?: string; account?: string; region?: string; isPartial?: boolean } }; requestBody: { content: { 'application/json': components['schemas']['UpsertEntityTagsBody'] } }; responses: { 202: { content: { 'application/json': components['schemas']['Ref'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/tags/{rest}': {
    /** Get tags of an entity */ get: { parameters: { path: { rest: string } }; responses: { 200: { content: { 'application/json': components['schemas']['EntityTags'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/tags/{id}/{tag}': {
    /** Remove tags from an entity */ delete: { parameters: { path: { id: string; tag: string } }; responses: { 202: { content: { 'application/json': components['schemas']['Ref'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/batch/tags': {
    /** Tag several entities */ post: { parameters: { query?: { application?: string } }; requestBody: { content: { 'application/json': components['schemas']['BulkUpsertEntityTagsBody'] } }; responses: { 202: { content: { 'application/json': components['schemas']['Ref'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/canaryConfig': {
    /** List canary configurations */ get: { parameters: { query?: { application?: string; configurationAccountName?: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['CanaryConfig'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Create a canary configuration */ post: { parameters: { query?: { configurationAccountName?: string } }; requestBody: { content: { 'application/json': components['schemas']['CanaryConfig'] } }; responses: { 200: { content: { 'application/json': components['schemas']['SavedCanaryConfig'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/canaryConfig/{id}': {
    /** Get a canary configuration */ get: { parameters: { query?: { configurationAccountName?: string }; path: { id: string } }; responses: { 200: { content: { 'application/json': components['schemas']['CanaryConfig'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Update a canary configuration */ put: { parameters: { query?: { configurationAccountName?: string }; path: { id: string } }; requestBody: { content: { 'application/json': components['schemas']['CanaryConfig'] } }; responses: { 200: { content: { 'application/json': components['schemas']['SavedCanaryConfig'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Delete a canary configuration */ delete: { parameters: { query?: { configurationAccountName?: string }; path: { id: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/canaries/credentials': {
    /** List canary accounts */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['CanaryAccount'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/canaries/metadata/metricsService': {
    /** List canary metrics */ get: { parameters: { query?: { filter?: string; metricsAccountName?: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['CanaryMetric'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/canaries/judges': {
    /** List canary judges */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['CanaryJudge'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/canaries/canary': {
    /** Start a canary analysis */ post: { parameters: { query?: { application?: string; parentPipelineExecutionId?: string; metricsAccountName?: string; configurationAccountName?: string; storageAccountName?: string } }; requestBody: { content: { 'application/json': components['schemas']['InitiateCanaryWithConfigBody'] } }; responses: { 200: { content: { 'application/json': components['schemas']['CanaryExecution'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/canaries/canary/{canaryConfigId}': {
    /** Start a configured canary analysis */ post: { parameters: { query?: { application?: string; parentPipelineExecutionId?: string; metricsAccountName?: string; configurationAccountName?: string; storageAccountName?: string }; path: { canaryConfigId: string } }; requestBody: { content: { 'application/json': components['schemas']['InitiateCanaryBody'] } }; responses: { 200: { content: { 'application/json': components['schemas']['CanaryExecution'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Get a canary analysis */ get: { parameters: { query?: { storageAccountName?: string }; path: { canaryConfigId: string } }; responses: { 200: { content: { 'application/json': components['schemas']['CanaryResult'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/canaries/canary/{canaryConfigId}/{canaryExecutionId}': {
    /** Get a canary analysis (older address) */ get: { parameters: { query?: { storageAccountName?: string }; path: { canaryConfigId: string; canaryExecutionId: string } }; responses: { 200: { content: { 'application/json': components['schemas']['CanaryResult'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/canaries/{application}/executions': {
    /** List canary analyses */ get: { parameters: { query: { limit: number; page?: number; statuses?: string; storageAccountName?: string }; path: { application: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['CanaryResult'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/canaries/metricSetPairList/{metricSetPairListId}': {
    /** Get canary measurements */ get: { parameters: { query?: { storageAccountName?: string }; path: { metricSetPairListId: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['MetricSetPair'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/canaries/{id}': {
    /** Get a first-generation canary */ get: { parameters: { path: { id: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Canary'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/canaries/{id}/generateCanaryResult': {
    /** Compute the result of a canary */ post: { parameters: { path: { id: string } }; requestBody?: { content: { 'application/json': components['schemas']['GenerateCanaryResultBody'] } }; responses: { 201: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/canaries/{id}/end': {
    /** End a canary */ put: { parameters: { path: { id: string } }; requestBody?: { content: { 'application/json': components['schemas']['EndCanaryBody'] } }; responses: { 200: { content: { 'application/json': components['schemas']['Canary'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/canaryDeployments/{canaryDeploymentId}/canaryAnalysisHistory': {
    /** List analyses of a canary deployment */ get: { parameters: { path: { canaryDeploymentId: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['CanaryAnalysis'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/canaryConfig/names': {
    /** List names of canary configurations */ get: { parameters: { query: { application: string } }; responses: { 200: { content: { 'application/json': (string)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/canaryConfigs/{application}': {
    /** List first-generation canary configurations */ get: { parameters: { path: { application: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['FirstGenerationCanaryConfig'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/application/{application}': {
    /** Get the management of an application */ get: { parameters: { query?: { includeDetails?: boolean; entities?: (string)[]; maxArtifactVersions?: number }; path: { application: string } }; responses: { 200: { content: { 'application/json': components['schemas']['ManagedApplication'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/application/{application}/config': {
    /** Get the delivery configuration */ get: { parameters: { path: { application: string } }; responses: { 200: { content: { 'application/json': components['schemas']['DeliveryConfig'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Delete the delivery configuration */ delete: { parameters: { path: { application: string } }; responses: { 200: { content: { 'application/json': components['schemas']['DeliveryConfig'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/application/{application}/pause': {
    /** Pause management of an application */ post: { parameters: { path: { application: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Resume management of an application */ delete: { parameters: { path: { application: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/application/{application}/pin': {
    /** Pin an artifact version */ post: { parameters: { path: { application: string } }; requestBody: { content: { 'application/json': components['schemas']['AnyObject'] } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/application/{application}/pin/{targetEnvironment}': {
    /** Release a pinned version */ delete: { parameters: { query?: { reference?: string }; path: { application: string; targetEnvironment: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/application/{application}/veto': {
    /** Veto an artifact version */ post: { parameters: { path: { application: string } }; requestBody: { content: { 'application/json': components['schemas']['AnyObject'] } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/application/{application}/veto/{targetEnvironment}/{reference}/{version}': {
    /** Withdraw a veto */ delete: { parameters: { path: { application: string; targetEnvironment: string; reference: string; version: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/application/{application}/mark/bad': {
    /** Mark a version as bad */ post: { parameters: { path: { application: string } }; requestBody: { content: { 'application/json': components['schemas']['AnyObject'] } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/application/{application}/mark/good': {
    /** Mark a version as good */ post: { parameters: { path: { application: string } }; requestBody: { content: { 'application/json': components['schemas']['AnyObject'] } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/environments/{application}': {
    /** List environments of an application */ get: { parameters: { path: { application: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['ManagedEnvironment'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/application/{application}/environment/{environment}/constraints': {
    /** List constraints of an environment */ get: { parameters: { query?: { limit?: number }; path: { application: string; environment: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['ConstraintState'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/application/{application}/environment/{environment}/constraint': {
    /** Decide a constraint */ post: { parameters: { path: { application: string; environment: string } }; requestBody: { content: { 'application/json': components['schemas']['AnyObject'] } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/{application}/environment/{environment}/verifications': {
    /** Override a verification */ post: { parameters: { path: { application: string; environment: string } }; requestBody: { content: { 'application/json': components['schemas']['AnyObject'] } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/{application}/environment/{environment}/verifications/retry': {
    /** Retry a verification */ post: { parameters: { path: { application: string; environment: string } }; requestBody: { content: { 'application/json': components['schemas']['AnyObject'] } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/resources/{resourceId}': {
    /** Get a managed resource */ get: { parameters: { path: { resourceId: string } }; responses: { 200: { content: { 'application/json': components['schemas']['ManagedResource'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/resources/{resourceId}/status': {
    /** Get the state of a resource */ get: { parameters: { path: { resourceId: string } }; responses: { 200: { content: { 'application/json': { status: string } } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/resources/{resourceId}/pause': {
    /** Pause management of a resource */ post: { parameters: { path: { resourceId: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Resume management of a resource */ delete: { parameters: { path: { resourceId: string } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/resources/diff': {
    /** Compare a managed resource */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['AnyObject'] } }; responses: { 200: { content: { 'application/json': components['schemas']['ManagedDiff'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/resources/export/{cloudProvider}/{account}/{type}/{name}': {
    /** Export a running resource */ get: { parameters: { query: { serviceAccount: string }; path: { cloudProvider: string; account: string; type: string; name: string } }; responses: { 200: { content: { 'application/x-yaml': components['schemas']['ManagedResource'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/resources/export/artifact/{cloudProvider}/{account}/{clusterName}': {
    /** Export the artifact of a cluster */ get: { parameters: { path: { cloudProvider: string; account: string; clusterName: string } }; responses: { 200: { content: { 'application/x-yaml': components['schemas']['ManagedArtifact'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/history/{name}': {
    /** List events of a resource */ get: { parameters: { query?: { limit?: number }; path: { name: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['ResourceEvent'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/graphql': {
    /** Query managed delivery with GraphQL */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['GraphqlRequest'] } }; responses: { 200: { content: { 'application/json': components['schemas']['GraphqlAnswer'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/reports/onboarding': {
    /** Get the onboarding report */ get: { parameters: {  }; responses: { 200: { content: { 'text/plain': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/reports/adoption': {
    /** Get the adoption report */ get: { parameters: {  }; responses: { 200: { content: { 'text/plain': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/notifications/callbacks/{source}': {
    /** Receive a managed-delivery chat callback */ post: { parameters: { path: { source: string } }; requestBody?: { content: { 'application/x-www-form-urlencoded': unknown } }; responses: { 200: { content: { 'application/json': unknown } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/delivery-configs/{name}': {
    /** Get a delivery configuration */ get: { parameters: { path: { name: string } }; responses: { 200: { content: { 'application/json': components['schemas']['DeliveryConfig'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Delete a delivery configuration by name */ delete: { parameters: { path: { name: string } }; responses: { 200: { content: { 'application/json': components['schemas']['DeliveryConfig'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/delivery-configs/{name}/artifacts': {
    /** List artifacts of a delivery configuration */ get: { parameters: { path: { name: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['DeliveryArtifact'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/delivery-configs': {
    /** Save a delivery configuration */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['AnyObject'] } }; responses: { 200: { content: { 'application/json': components['schemas']['DeliveryConfig'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/delivery-configs/validate': {
    /** Validate a delivery configuration */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['AnyObject'] } }; responses: { 200: { content: { 'application/json': components['schemas']['DeliveryConfigFindings'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/delivery-configs/diff': {
    /** Compare a delivery configuration */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['AnyObject'] } }; responses: { 200: { content: { 'application/json': (components['schemas']['ManagedDiff'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/managed/delivery-configs/schema': {
    /** Get the delivery configuration schema */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': components['schemas']['DeliveryConfigSchema'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/cleanup/resources/{namespace}/{resourceId}': {
    /** Get a marked resource */ get: { parameters: { path: { namespace: string; resourceId: string } }; responses: { 200: { content: { 'application/json': components['schemas']['MarkedResource'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/cleanup/resources/{namespace}/{resourceId}/optOut': {
    /** Spare a resource from deletion */ get: { parameters: { path: { namespace: string; resourceId: string } }; responses: { 200: { content: { 'application/json': components['schemas']['MarkedResource'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/cleanup/resources/marked': {
    /** List marked resources */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['MarkedResource'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/cleanup/resources/deleted': {
    /** List deleted resources */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['MarkedResource'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/ecs/ecsClusters': {
    /** List ECS clusters */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['EcsCluster'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/ecs/ecsClusterDescriptions/{account}/{region}': {
    /** List ECS clusters of a region */ get: { parameters: { path: { account: string; region: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['EcsClusterDescription'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/ecs/cloudMetrics/alarms': {
    /** List ECS metric alarms */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['EcsAlarm'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/ecs/secrets': {
    /** List ECS secrets */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['EcsSecret'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/ecs/serviceDiscoveryRegistries': {
    /** List ECS service registries */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['EcsServiceRegistry'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/servicebroker/{account}/services': {
    /** List services of a broker */ get: { parameters: { query: { cloudProvider?: string; region: string }; path: { account: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['BrokerService'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/servicebroker/{account}/serviceInstance': {
    /** Get a service instance */ get: { parameters: { query: { cloudProvider: string; region: string; serviceInstanceName: string }; path: { account: string } }; responses: { 200: { content: { 'application/json': components['schemas']['ServiceInstance'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v1/data/static/{id}': {
    /** Get stored data */ get: { parameters: { query?: { expectedContentType?: string }; path: { id: string } }; responses: { 200: { content: { 'application/json': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v1/data/adhoc/{groupId}/{bucketId}/{rest}': {
    /** Get an object of a bucket */ get: { parameters: { path: { groupId: string; bucketId: string; rest: string } }; responses: { 200: { content: { 'application/json': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/version': {
    /** Get the version */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': { version: string } } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/health': {
    /** Check health */ get: { parameters: { query?: { downstreamServices?: boolean; checkDownstreamServices?: boolean } }; responses: { 200: { content: { 'application/json': components['schemas']['Health'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/livez': {
    /** Check liveness */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': components['schemas']['Health'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/health/liveness': {
    /** Check liveness (older address) */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': components['schemas']['Health'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/readyz': {
    /** Check readiness */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': components['schemas']['Health'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/health/readiness': {
    /** Check readiness (older address) */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': components['schemas']['Health'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/spectator/metrics': {
    /** Get metrics without login */ get: { parameters: {  }; responses: { 200: { content: { 'text/plain': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/metrics': {
    /** Get metrics */ get: { parameters: {  }; responses: { 200: { content: { 'text/plain': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/openapi.json': {
    /** Get the API document */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': components['schemas']['ApiDocument'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v3/api-docs': {
    /** Get the API document */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': components['schemas']['ApiDocument'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/v2/api-docs': {
    /** Get the API document */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': components['schemas']['ApiDocument'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/swagger-ui/index.html': {
    /** Browse the API */ get: { parameters: {  }; responses: { 200: { content: { 'text/html': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/swagger-ui.html': {
    /** Browse the API */ get: { parameters: {  }; responses: { 200: { content: { 'text/html': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/reference': {
    /** Browse the API */ get: { parameters: {  }; responses: { 200: { content: { 'text/html': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/swagger-ui/{file}': {
    /** Get the reference script */ get: { parameters: { path: { file: string } }; responses: { 200: { content: { 'text/javascript': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/doctor': {
    /** Examine the installation */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': components['schemas']['Examination'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/plugins/info': {
    /** List plugins */ get: { parameters: { query?: { service?: string } }; responses: { 200: { content: { 'application/json': (components['schemas']['PluginInfo'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Save a plugin */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['PluginInfo'] } }; responses: { 202: { content: { 'application/json': components['schemas']['Ref'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Save a plugin */ put: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['PluginInfo'] } }; responses: { 202: { content: { 'application/json': components['schemas']['Ref'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/plugins/info/{id}': {
    /** Delete a plugin */ delete: { parameters: { path: { id: string } }; responses: { 202: { content: { 'application/json': components['schemas']['Ref'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/plugins/installed': {
    /** List installed plugins */ get: { parameters: { query?: { service?: string } }; responses: { 200: { content: { 'application/json': { [key: string]: ({ [key: string]: unknown })[] } } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/plugins/publish/{pluginId}/{pluginVersion}': {
    /** Publish a plugin */ post: { parameters: { path: { pluginId: string; pluginVersion: string } }; requestBody: { content: { 'multipart/form-data': { [key: string]: unknown } } }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/plugins/deck/plugin-manifest.json': {
    /** List plugins of the web UI */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': ({ id: string; name: string; version: string; [key: string]: unknown })[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/plugins/deck/{pluginId}/{pluginVersion}/{asset}': {
    /** Get a web UI plugin file */ get: { parameters: { path: { pluginId: string; pluginVersion: string; asset: string } }; responses: { 200: { content: { 'application/javascript': string } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/banners': {
    /** List active announcements */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['Banner'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Save an announcement */ put: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['BannerChange'] } }; responses: { 200: { content: { 'application/json': components['schemas']['Banner'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Delete all announcements */ delete: { parameters: {  }; responses: { 204: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/banners/all': {
    /** List all announcements */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (components['schemas']['Banner'])[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/banners/refresh': {
    /** Reload announcements */ post: { parameters: {  }; responses: { 200: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/banners/{id}': {
    /** Get an announcement */ get: { parameters: { path: { id: string } }; responses: { 200: { content: { 'application/json': components['schemas']['Banner'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Change an announcement */ post: { parameters: { path: { id: string } }; requestBody: { content: { 'application/json': components['schemas']['BannerPatch'] } }; responses: { 200: { content: { 'application/json': components['schemas']['Banner'] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Delete an announcement */ delete: { parameters: { path: { id: string } }; responses: { 204: { content?: never }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/proxies': {
    /** List proxies */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': ({ id: string; uri: string })[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/proxies/{proxy}/{rest}': {
    /** Forward to an outside service */ get: { parameters: { path: { proxy: string; rest: string } }; responses: { 200: { content: { 'application/json': unknown } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Forward to an outside service */ post: { parameters: { path: { proxy: string; rest: string } }; requestBody?: { content: { 'application/json': components['schemas']['AnyBody'] } }; responses: { 200: { content: { 'application/json': unknown } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Forward to an outside service */ put: { parameters: { path: { proxy: string; rest: string } }; requestBody?: { content: { 'application/json': components['schemas']['AnyBody'] } }; responses: { 200: { content: { 'application/json': unknown } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Forward to an outside service */ delete: { parameters: { path: { proxy: string; rest: string } }; requestBody?: { content: { 'application/json': components['schemas']['AnyBody'] } }; responses: { 200: { content: { 'application/json': unknown } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/proxies/{proxy}': {
    /** Forward to an outside service */ get: { parameters: { path: { proxy: string } }; responses: { 200: { content: { 'application/json': unknown } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Forward to an outside service */ post: { parameters: { path: { proxy: string } }; requestBody?: { content: { 'application/json': components['schemas']['Any1Body'] } }; responses: { 200: { content: { 'application/json': unknown } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Forward to an outside service */ put: { parameters: { path: { proxy: string } }; requestBody?: { content: { 'application/json': components['schemas']['Any1Body'] } }; responses: { 200: { content: { 'application/json': unknown } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
    /** Forward to an outside service */ delete: { parameters: { path: { proxy: string } }; requestBody?: { content: { 'application/json': components['schemas']['Any1Body'] } }; responses: { 200: { content: { 'application/json': unknown } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/slack/channels': {
    /** List Slack channels */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': (unknown)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pagerDuty/services': {
    /** List PagerDuty services */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': ({ [key: string]: unknown })[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/pagerDuty/oncalls': {
    /** List people on call */ get: { parameters: {  }; responses: { 200: { content: { 'application/json': { [key: string]: ({ [key: string]: unknown })[] } } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/integrations/gremlin/templates/command': {
    /** List Gremlin command templates */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['AnyObject'] } }; responses: { 200: { content: { 'application/json': (unknown)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
  '/integrations/gremlin/templates/target': {
    /** List Gremlin target templates */ post: { parameters: {  }; requestBody: { content: { 'application/json': components['schemas']['AnyObject'] } }; responses: { 200: { content: { 'application/json': (unknown)[] } }; default: { content: { 'application/json': components['schemas']['Error'] } } } }
  }
}

export interface components {
  schemas: {
    AccessExplanation: { operation: string; /** Method and path. */ request: string; username: string; /** Whether the permission service knows the user; users become known when they log in. */ known: boolean; admin: boolean; roles: ({ name: string; /** As the permission service calls it: EXTERNAL, FILE, LDAP, GOOGLE_GROUPS, GITHUB_TEAMS. */ source: string; /** The same in words. */ from: string })[]; /** What the operation demands. */ demands: string; /** `depends`: on what `open` lists. */ decision: "allowed" | "denied" | "depends"; reasons: ({ need: string; allowed: boolean; rule: string })[]; /** What to add to the question for a decision, as `name=VALUE: what it is`. */ open: (string)[]; /** What some requests of this operation need besides, in the same form. */ optional: (string)[]; /** Who refuses what is denied: see `permissions.enforce`. */ enforcement?: { by: "gateway" | "services" | "both"; note: string }; /** Roles by authorization of the requested objects; an object without any is unrestricted. For administrators. */ resources?: ({ kind: string; name: string; permissions: { [key: string]: (string)[] } })[] }
    AccessExplanations: { explanations: (components['schemas']['AccessExplanation'])[] }
    AccessQuestions: { questions: ({ /** Id of the operation, such as savePipelineUsingPOST, or a request, such as `POST /pipelines`. */ operation: string; /** The application that it would be about. */ application?: string; /** The account that it would be about. */ account?: string; /** The build service that it would be about. */ buildService?: string; /** The service account that a trigger would run as. */ serviceAccount?: string; /** Another user. For administrators. */ username?: string })[] }
    /** An account of a cloud provider. */ Account: { name: string; accountId?: string | null; /** Cloud provider. */ type: string; cloudProvider?: string | null; environment?: string | null; accountType?: string | null; requiredGroupMembership?: (string)[] | null; /** Roles by authorization; empty means open. */ permissions?: { [key: string]: (string)[] }; /** Whether the caller may write to it. */ authorized: boolean; challengeDestructiveActions?: boolean | null; primaryAccount?: boolean | null; /** With all fields only. */ regions?: unknown; [key: string]: unknown }
    /** A stored account; the fields of its cloud provider are allowed beside these. */ AccountDefinition: { name: string; /** Cloud provider. */ type: string; [key: string]: unknown }
    ActiveExecutions: { overdue: boolean; count: number; [key: string]: unknown }
    Any1Body: unknown
    AnyBody: unknown
    AnyObject: { [key: string]: unknown }
    ApiDocument: { openapi: string; info: { [key: string]: unknown }; paths: { [key: string]: unknown }; [key: string]: unknown }
    ApiToken: { id: string; name: string; /** Whom the token speaks for. */ principalId: string; principalType: "USER" | "SERVICE_ACCOUNT"; createdByUserId: string; /** ISO 8601, UTC. */ createdAt: string; /** ISO 8601, UTC. */ rotatedAt?: string; /** Absent: never. */ expiresAt?: string; /** To about a minute. */ lastUsedAt?: string; readOnly: boolean; /** Absent: all. */ applications?: (string)[]; /** Absent: all. */ operations?: (string)[] }
    ApiTokenRequest: { /** Unique among the tokens of the principal. */ name: string; /** `USER` (default) or `SERVICE_ACCOUNT`. */ principalType?: string | null; /** The service account; other users create tokens for themselves only. */ principalId?: string | null; /** ISO 8601. Default: as late as allowed; for a service account never. */ expiresAt?: string | null; /** Allows reading and the evaluation of expressions only. */ readOnly?: boolean | null; /** Allows only what is about these applications. */ applications?: (string)[] | null; /** Allows only the operations with these ids. */ operations?: (string)[] | null }
    ApiTokenRotation: { /** For how long the former secret is accepted. */ overlapSeconds?: number | null }
    Application: { name: string; attributes: components['schemas']['ApplicationAttributes']; /** By account; empty with `expand=false`. */ clusters: { [key: string]: (components['schemas']['Cluster'])[] }; [key: string]: unknown }
    /** Attributes of an application; any others are allowed beside these. */ ApplicationAttributes: { name: string; email?: string | null; description?: string | null; /** Comma-separated. */ cloudProviders?: string | null; /** Those in which the application runs, comma-separated. */ accounts?: string | null; /** Milliseconds since the epoch. */ createTs?: string | null; /** Milliseconds since the epoch. */ updateTs?: string | null; lastModifiedBy?: string | null; permissions?: components['schemas']['Permissions'] | null; trafficGuards?: (components['schemas']['TrafficGuard'])[] | null; instancePort?: number | null; platformHealthOnly?: boolean | null; repoType?: string | null; repoProjectKey?: string | null; repoSlug?: string | null; aliases?: string | null; [key: string]: unknown }
    /** Something that a pipeline deploys: an image, a file, a chart. */ Artifact: { type?: string; name?: string | null; version?: string | null; location?: string | null; reference?: string | null; artifactAccount?: string | null; provenance?: string | null; uuid?: string | null; metadata?: { [key: string]: unknown } | null; [key: string]: unknown }
    ArtifactAccount: { name: string; types?: (string)[] | null; [key: string]: unknown }
    AuditEvent: { /** Counts from 1, without gaps. */ sequence: number; /** ISO 8601, UTC. */ at: string; kind: "change" | "read" | "refusal" | "login" | "logout" | "token" | "audit"; decision: "begun" | "allowed" | "refused" | "failed" | "interrupted"; user?: string; /** How the user has logged in. */ login?: string; /** Id of the API token. */ token?: string; address?: string; requestId?: string; method?: string; /** Id of the operation. */ operation?: string; application?: string; /** What it is about: names and ids. */ resource?: { [key: string]: string }; /** Of the answer. */ status?: number; /** Code of the error. */ error?: string; /** Why credentials were refused. */ reason?: string; upstream?: ({ service: string; status?: number; [key: string]: unknown })[]; /** Joins `begun` with how it ended. */ change?: string; /** How many more like the one before there were. */ repeated?: number; /** Events that could not be written. */ lost?: number; /** Hash of the event before. */ previous: string; hash: string; [key: string]: unknown }
    AuditEvents: { /** The newest first. */ events: (components['schemas']['AuditEvent'])[]; /** `cursor` of the next page; absent on the last. */ next?: string }
    AuditVerification: { /** Whether every record is as it was written, none is missing, and the expected one is there. */ sound: boolean; records: number; /** Sequence of the first record; above 1 where older ones have been removed. */ first?: number; /** The newest record. */ last?: { sequence: number; hash: string }; /** Events that could not be written, as the records say themselves. */ lost: number; /** The first twenty. */ breaks: ({ line: number; problem: string })[]; /** Whether the expected record is there; true where none is expected. */ hasExpected: boolean }
    /** Base images of a cloud provider. */ BakeOptions: { cloudProvider: string; baseImages?: ({ id: string; shortDescription?: string | null; detailedDescription?: string | null; packageType?: string | null; osType?: string | null; [key: string]: unknown })[] | null; [key: string]: unknown }
    Banner: { id: string; /** Text, with Markdown. */ message: string; /** CSS color of the text. */ color?: string | null; /** CSS color behind the text. */ backgroundColor?: string | null; /** CSS size of the text. */ fontSize?: string | null; enabled: boolean; /** Shown from then on, in milliseconds since the epoch. */ startTimestamp?: number | null; /** Shown until then, in milliseconds since the epoch. */ endTimestamp?: number | null; /** Milliseconds since the epoch. */ createdAt: number; /** Milliseconds since the epoch. */ updatedAt: number }
    BannerChange: { id?: string | null; /** Text, with Markdown. */ message: string; /** CSS color of the text. */ color?: string | null; /** CSS color behind the text. */ backgroundColor?: string | null; /** CSS size of the text. */ fontSize?: string | null; enabled?: boolean; /** Shown from then on, in milliseconds since the epoch. */ startTimestamp?: number | null; /** Shown until then, in milliseconds since the epoch. */ endTimestamp?: number | null }
    BannerPatch: { id?: string | null; /** Text, with Markdown. */ message?: string; /** CSS color of the text. */ color?: string | null; /** CSS color behind the text. */ backgroundColor?: string | null; /** CSS size of the text. */ fontSize?: string | null; enabled?: boolean; /** Shown from then on, in milliseconds since the epoch. */ startTimestamp?: number | null; /** Shown until then, in milliseconds since the epoch. */ endTimestamp?: number | null }
    BrokerService: { name?: string | null; [key: string]: unknown }
    Build: { number?: number | null; building?: boolean | null; /** SUCCESS, UNSTABLE, BUILDING, ABORTED, FAILURE or NOT_BUILT; absent while it runs. */ result?: string | null; name?: string | null; id?: string | null; url?: string | null; /** Start in milliseconds since the epoch. */ timestamp?: string | number | null; /** Milliseconds. */ duration?: number | null; artifacts?: ({ [key: string]: unknown })[] | null; testResults?: ({ [key: string]: unknown })[] | null; scm?: ({ [key: string]: unknown })[] | null; properties?: { [key: string]: unknown } | null; [key: string]: unknown }
    /** Configuration of a job of a build server. */ BuildJob: { name?: string | null; displayName?: string | null; description?: string | null; url?: string | null; buildable?: boolean | null; concurrentBuild?: boolean | null; parameterDefinitionList?: ({ name: string; description?: string | null; type?: string | null; defaultValue?: string | null; choices?: (string)[] | null; [key: string]: unknown })[] | null; [key: string]: unknown }
    BulkSaveResult: { successful_pipelines_count?: number; successful_pipelines?: (string)[]; failed_pipelines_count?: number; /** Each with its `errorMsg`. */ failed_pipelines?: ({ [key: string]: unknown })[]; [key: string]: unknown }
    BulkUpsertEntityTagsBody: (components['schemas']['EntityTags'])[]
    BulksavePipelineBody: (components['schemas']['Pipeline'])[]
    Canary: { id?: string | null; application?: string | null; owner?: string | null; [key: string]: unknown }
    CanaryAccount: { name?: string | null; type?: string | null; [key: string]: unknown }
    CanaryAnalysis: { id?: string | null; canaryDeploymentId?: string | null; [key: string]: unknown }
    /** A canary configuration: metrics, their groups and the judge. */ CanaryConfig: { id?: string; name?: string; applications?: (string)[]; [key: string]: unknown }
    CanaryExecution: { canaryExecutionId: string; [key: string]: unknown }
    CanaryJudge: { name?: string | null; [key: string]: unknown }
    CanaryMetric: { name?: string | null; [key: string]: unknown }
    /** State of a canary analysis, and its result once it is complete. */ CanaryResult: { complete?: boolean | null; status?: string | null; application?: string | null; /** With `judgeResult.score.classification`. */ result?: { [key: string]: unknown } | null; [key: string]: unknown }
    Capacity: { min?: number | null; max?: number | null; desired?: number | null; pinned?: boolean | null; [key: string]: unknown }
    Certificate: { serverCertificateName?: string | null; serverCertificateId?: string | null; arn?: string | null; path?: string | null; [key: string]: unknown }
    Chart: { name?: string | null; account?: string | null; version?: string | null; [key: string]: unknown }
    CloudBuildTrigger: { id?: string | null; name?: string | null; description?: string | null; [key: string]: unknown }
    CloudFunction: { account?: string | null; region?: string | null; functionName?: string | null; functionArn?: string | null; runtime?: string | null; [key: string]: unknown }
    CloudMetric: { name?: string | null; namespace?: string | null; cloudProvider?: string | null; [key: string]: unknown }
    /** What the infrastructure does for a step. */ CloudOperation: { id: string; requestId?: string | null; ownerId?: string | null; startTimeMs?: number | null; status?: { phase?: string | null; status?: string | null; completed?: boolean | null; failed?: boolean | null; retryable?: boolean | null; [key: string]: unknown } | null; history?: ({ phase?: string | null; status?: string | null; [key: string]: unknown })[] | null; resultObjects?: ({ [key: string]: unknown })[] | null; [key: string]: unknown }
    CloudRole: { name?: string | null; accountName?: string | null; [key: string]: unknown }
    /** Server groups of an application that replace each other. */ Cluster: { name: string; accountName?: string | null; account?: string | null; type?: string | null; provider?: string | null; moniker?: components['schemas']['Moniker'] | null; /** Server groups, or their names in lists. */ serverGroups?: (unknown)[] | null; /** Load balancers, or their names in lists. */ loadBalancers?: (unknown)[] | null; [key: string]: unknown }
    ConsoleOutput: { /** Text, or a list of logs with `name` and `output`. */ output: unknown; /** Of the first byte of `output`. */ offset?: number; /** Where the next part begins. */ nextOffset?: number; /** Where the output ends at present; there is more when it is beyond `nextOffset`. */ endOffset?: number; /** Bytes from the wanted offset on that were dropped before. */ lostBytes?: number; [key: string]: unknown }
    ConstraintState: { deliveryConfigName?: string | null; environmentName?: string | null; artifactVersion?: string | null; type?: string | null; status?: string | null; [key: string]: unknown }
    CronVerdict: { valid: boolean; /** The expression in words, when it is valid. */ description?: string; /** When it fires next, in milliseconds since the epoch; from the embedded event service only. */ nextTimes?: (number)[]; /** Zone of the schedule, such as `Europe/Berlin`. */ timeZone?: string; /** What is wrong with it, when it is not. */ message?: string; [key: string]: unknown }
    CurrentUser: { username: string; email: string | null; firstName: string | null; lastName: string | null; /** Those of the permission service, or those learnt at login while it knows none. */ roles: (string)[]; /** Accounts that the user may write to, as of the login. */ allowedAccounts: (string)[]; /** The roles once more. */ authorities: ({ authority: string })[]; enabled: true; accountNonExpired: true; accountNonLocked: true; credentialsNonExpired: true; isAdmin: boolean; canMintApiTokens: boolean; /** Present while there are API tokens. */ maxUserTokenLifetimeDays?: number; /** Present while there are API tokens. */ maxServiceAccountTokenLifetimeDays?: number }
    /** The old and the new name of a definition. */ DefinitionMove: { application: string; from: string; to: string; [key: string]: unknown }
    DefinitionOrder: { application: string; /** Place of each definition, counted from 0. */ idsToIndices: { [key: string]: number }; [key: string]: unknown }
    DeliveryArtifact: { name?: string | null; type?: string | null; reference?: string | null; [key: string]: unknown }
    DeliveryConfig: { name?: string | null; application?: string | null; serviceAccount?: string | null; artifacts?: ({ [key: string]: unknown })[] | null; environments?: ({ [key: string]: unknown })[] | null; [key: string]: unknown }
    DeliveryConfigFindings: { message?: string | null; [key: string]: unknown }
    DeliveryConfigSchema: { $id?: string | null; $schema?: string | null; type?: string | null; [key: string]: unknown }
    DeploymentMonitor: { id?: string | null; name?: string | null; supportContact?: string | null; [key: string]: unknown }
    EcsAlarm: { alarmName?: string | null; alarmArn?: string | null; accountName?: string | null; region?: string | null; [key: string]: unknown }
    EcsCluster: { account?: string | null; region?: string | null; name?: string | null; [key: string]: unknown }
    EcsClusterDescription: { clusterName?: string | null; clusterArn?: string | null; status?: string | null; [key: string]: unknown }
    EcsSecret: { account?: string | null; region?: string | null; name?: string | null; arn?: string | null; [key: string]: unknown }
    EcsServiceRegistry: { account?: string | null; region?: string | null; name?: string | null; id?: string | null; arn?: string | null; displayName?: string | null; [key: string]: unknown }
    EndCanaryBody: { result?: string; reason?: string; [key: string]: unknown }
    EntityTag: { name: string; namespace?: string; value: unknown; [key: string]: unknown }
    /** Tags of an entity. */ EntityTags: { entityRef: { [key: string]: unknown }; tags: (components['schemas']['EntityTag'])[]; [key: string]: unknown }
    Error: { /** ISO 8601 with milliseconds and offset. */ timestamp?: string; status: number; /** Reason phrase of the status. */ error: string; /** What failed, and how to fix it. */ message: string; /** Stable error code; docs/reference/errors.md lists all. */ code?: string; /** Finds the request in the log. */ requestId?: string; /** The service that failed. */ upstream?: { service: string; status?: number; [key: string]: unknown }; [key: string]: unknown }
    /** Of a request that was limited or shed. */ ErrorMessage: { message: string; [key: string]: unknown }
    EvaluateVariablesBody: (components['schemas']['Variable'])[]
    Evaluation: { /** The value; absent when it is null. */ result?: unknown; /** What went wrong, by expression. */ detail?: { [key: string]: unknown } | null; [key: string]: unknown }
    Examination: { /** The worst of all findings. */ verdict: "ok" | "warning" | "problem"; /** The address of the gateway as browsers see it, as far as the configuration tells. */ publicUrl: string; /** To be registered at the identity provider. */ addresses: ({ login: string; what: string; url: string; /** False: answered as well, as by every version of Gate. */ needed: boolean })[]; findings: ({ /** What was looked at. */ subject: string; verdict: "ok" | "warning" | "problem"; tried: string; found: string; /** What to do; absent when there is nothing to do. */ advice?: string })[] }
    /** A run of a pipeline, or of a task. */ Execution: { id: string; type: "PIPELINE" | "ORCHESTRATION"; application: string; name?: string | null; description?: string | null; status: components['schemas']['ExecutionStatus']; pipelineConfigId?: string | null; /** When it was submitted, in milliseconds since the epoch. */ buildTime?: number | null; startTime?: number | null; endTime?: number | null; startTimeExpiry?: number | null; /** Cancellation was asked for. */ canceled?: boolean | null; canceledBy?: string | null; cancellationReason?: string | null; paused?: { [key: string]: unknown } | null; limitConcurrent?: boolean | null; keepWaitingPipelines?: boolean | null; maxConcurrentExecutions?: number | null; origin?: string | null; authentication?: { [key: string]: unknown } | null; trigger: components['schemas']['Trigger']; stages: (components['schemas']['Stage'])[]; notifications?: ({ [key: string]: unknown })[] | null; initialConfig?: { [key: string]: unknown } | null; systemNotifications?: ({ [key: string]: unknown })[] | null; templateVariables?: { [key: string]: unknown } | null; rootId?: string | null; [key: string]: unknown }
    /** TERMINAL means failed. */ ExecutionStatus: "NOT_STARTED" | "BUFFERED" | "RUNNING" | "PAUSED" | "SUSPENDED" | "REDIRECT" | "SUCCEEDED" | "FAILED_CONTINUE" | "SKIPPED" | "TERMINAL" | "CANCELED" | "STOPPED"
    ExpectedArtifact: { id?: string; displayName?: string | null; matchArtifact?: components['schemas']['Artifact'] | null; defaultArtifact?: components['schemas']['Artifact'] | null; useDefaultArtifact?: boolean | null; usePriorArtifact?: boolean | null; [key: string]: unknown }
    ExpressionCapabilities: { functions: ({ name: string; description?: string | null; parameters?: ({ name: string; description?: string | null; type?: string | null; [key: string]: unknown })[] | null; [key: string]: unknown })[]; spelEvaluators?: ({ versionKey: string; description?: string | null; [key: string]: unknown })[] | null; [key: string]: unknown }
    ExpressionRequest: { /** In the expression language of pipelines, percent-encoded. */ expression: string; [key: string]: unknown }
    /** A stage that made an execution fail, with its error. */ FailedStage: { pipelineExecutionId: string; pipelineExecutionName?: string | null; pipelineApplication?: string | null; pipelineExecutionUrl?: string | null; stageId: string; stageName?: string | null; stageType?: string | null; stageStatus?: components['schemas']['ExecutionStatus'] | null; stageException?: string | null; [key: string]: unknown }
    FirstGenerationCanaryConfig: { id?: string | null; name?: string | null; application?: string | null; [key: string]: unknown }
    FormUser: { username: string; /** Lower case, sorted. */ roles: (string)[]; /** Whether a role makes the user an administrator of the embedded permission service. */ isAdmin: boolean; /** ISO 8601, UTC. */ createdAt: string; /** Of the newest session, to about a minute; absent without a session. */ lastUsedAt?: string; /** Number of API tokens; absent while they are switched off. */ tokens?: number }
    FormUserCreation: { username: string; roles?: (string)[]; /** 8 to 1,024 characters. Without it, Fairlead generates one. */ password?: string }
    FormUserPassword: { username: string; /** Only if it was generated. It is not shown again. */ password?: string }
    FormUserPasswordChange: { /** 8 to 1,024 characters. Without it, Fairlead generates one. */ password?: string; /** Also ends the API tokens of the user. */ revokeTokens?: boolean }
    FormUserRoles: { roles: (string)[] }
    /** A cluster; `{}` for an unknown one. */ FoundCluster: { name?: string; accountName?: string | null; account?: string | null; type?: string | null; provider?: string | null; moniker?: components['schemas']['Moniker'] | null; /** Server groups, or their names in lists. */ serverGroups?: (unknown)[] | null; /** Load balancers, or their names in lists. */ loadBalancers?: (unknown)[] | null; [key: string]: unknown }
    GenerateCanaryResultBody: { duration?: number; durationUnit?: string; [key: string]: unknown }
    GraphqlAnswer: { data?: unknown; errors?: ({ [key: string]: unknown })[]; [key: string]: unknown }
    GraphqlRequest: { query?: string; operationName?: string | null; variables?: { [key: string]: unknown } | null; [key: string]: unknown }
    Health: { status: "UP" | "DOWN"; /** What readiness waits for; for users. */ waitingFor?: (string)[]; /** What is out of order although requests are served; for users. */ troubles?: (string)[]; /** Processes that serve; for users, where there are several. */ workers?: { running: number; configured: number } }
    Hydration: { dryRun?: boolean; /** By id: what is or would be created. */ executions?: { [key: string]: { canApply?: boolean | null; actions?: ({ [key: string]: unknown })[] | null; [key: string]: unknown } }; [key: string]: unknown }
    /** A machine image or a container image. */ Image: { /** Of a machine image. */ imageName?: string | null; attributes?: { [key: string]: unknown } | null; accounts?: (string)[] | null; /** Ids by region. */ amis?: { [key: string]: (string)[] } | null; tagsByImageId?: { [key: string]: unknown } | null; /** Of a container image. */ repository?: string | null; tag?: string | null; account?: string | null; registry?: string | null; digest?: string | null; artifact?: { [key: string]: unknown } | null; [key: string]: unknown }
    /** `scopes` and `thresholds`. */ InitiateCanaryBody: { [key: string]: unknown }
    /** `canaryConfig` and `executionRequest`. */ InitiateCanaryWithConfigBody: { [key: string]: unknown }
    Instance: { name: string; id?: string | null; humanReadableName?: string | null; account?: string | null; region?: string | null; zone?: string | null; healthState?: string | null; launchTime?: number | null; health?: ({ [key: string]: unknown })[] | null; serverGroup?: string | null; cluster?: string | null; cloudProvider?: string | null; insightActions?: ({ url: string; label: string; [key: string]: unknown })[]; [key: string]: unknown }
    InstanceCounts: { total?: number | null; up?: number | null; down?: number | null; unknown?: number | null; starting?: number | null; outOfService?: number | null; [key: string]: unknown }
    InstanceType: { name: string; account?: string | null; region?: string | null; defaultVCpus?: number | null; memoryInGiB?: number | null; [key: string]: unknown }
    IssuedApiToken: { id: string; name: string; /** Whom the token speaks for. */ principalId: string; principalType: "USER" | "SERVICE_ACCOUNT"; createdByUserId: string; /** ISO 8601, UTC. */ createdAt: string; /** ISO 8601, UTC. */ rotatedAt?: string; /** Absent: never. */ expiresAt?: string; /** To about a minute. */ lastUsedAt?: string; readOnly: boolean; /** Absent: all. */ applications?: (string)[]; /** Absent: all. */ operations?: (string)[]; /** The secret. It is not shown again. */ token: string }
    /** A container that runs to an end. */ Job: { name?: string | null; id?: string | null; account?: string | null; location?: string | null; provider?: string | null; /** Starting, Running, Succeeded, Failed or Unknown. */ jobState?: string | null; createdTime?: number | null; completedTime?: number | null; completionDetails?: { [key: string]: unknown } | null; insightActions?: ({ url: string; label: string; [key: string]: unknown })[]; [key: string]: unknown }
    KeyPair: { account?: string | null; region?: string | null; keyName?: string | null; keyFingerprint?: string | null; [key: string]: unknown }
    LoadBalancer: { name?: string | null; account?: string | null; region?: string | null; type?: string | null; cloudProvider?: string | null; loadBalancerType?: string | null; vpcId?: string | null; moniker?: components['schemas']['Moniker'] | null; /** Each with the instances that it sends traffic to. */ serverGroups?: ({ [key: string]: unknown })[] | null; instances?: (unknown)[] | null; targetGroups?: (unknown)[] | null; securityGroups?: (unknown)[] | null; insightActions?: ({ url: string; label: string; [key: string]: unknown })[]; [key: string]: unknown }
    /** A name with the load balancers that have it, by account and region. */ LoadBalancerItem: { name: string; accounts?: ({ name: string; regions?: ({ name: string; loadBalancers?: (components['schemas']['LoadBalancer'])[] | null; [key: string]: unknown })[] | null; [key: string]: unknown })[] | null; [key: string]: unknown }
    LoginSession: { id: string; /** Whether this request belongs to it. */ current: boolean; /** How the user logged in. */ method: string; /** Moment of the login, ISO 8601, UTC. */ createdAt?: string; /** To about a minute. */ lastUsedAt: string; /** Address from which the user logged in. */ address?: string; /** Browser with which the user logged in. */ userAgent?: string }
    ManagedApplication: { hasManagedResources?: boolean; resources?: ({ [key: string]: unknown })[]; [key: string]: unknown }
    ManagedArtifact: { name?: string | null; type?: string | null; reference?: string | null; [key: string]: unknown }
    ManagedDiff: { status?: string | null; resourceId?: string | null; [key: string]: unknown }
    ManagedEnvironment: { name?: string | null; [key: string]: unknown }
    /** A resource under managed delivery. */ ManagedResource: { kind?: string | null; metadata?: { [key: string]: unknown } | null; spec?: { [key: string]: unknown } | null; [key: string]: unknown }
    Manifest: { account?: string | null; name?: string | null; location?: string | null; moniker?: components['schemas']['Moniker'] | null; /** The Kubernetes object. */ manifest?: { [key: string]: unknown } | null; status?: { [key: string]: unknown } | null; artifacts?: ({ [key: string]: unknown })[] | null; events?: ({ [key: string]: unknown })[] | null; warnings?: ({ [key: string]: unknown })[] | null; [key: string]: unknown }
    MarkedResource: { resourceId?: string | null; resourceType?: string | null; namespace?: string | null; name?: string | null; [key: string]: unknown }
    MetricSetPair: { id: string; name: string; values?: { [key: string]: (unknown)[] } | null; [key: string]: unknown }
    /** The parts of a name such as `shop-main-v012`. */ Moniker: { app?: string | null; stack?: string | null; detail?: string | null; cluster?: string | null; sequence?: number | null; [key: string]: unknown }
    Network: { id?: string | null; name?: string | null; cloudProvider?: string | null; account?: string | null; region?: string | null; deprecated?: boolean | null; [key: string]: unknown }
    Notification: { /** email, slack, googlechat, microsoftteams, sms, pubsub, … */ type?: string | null; address?: string | null; level?: string | null; /** Such as `pipeline.failed`. */ when?: (string)[] | null; message?: { [key: string]: unknown } | null; [key: string]: unknown }
    NotificationKind: { notificationType: string; parameters?: ({ [key: string]: unknown })[] | null; uiType?: string | null; [key: string]: unknown }
    /** Notifications of an application, by kind. */ NotificationSettings: { application?: string | null; /** Milliseconds since the epoch. */ lastModified?: number | null; lastModifiedBy?: string | null; email?: (components['schemas']['Notification'])[] | null; slack?: (components['schemas']['Notification'])[] | null; sms?: (components['schemas']['Notification'])[] | null; googlechat?: (components['schemas']['Notification'])[] | null; microsoftteams?: (components['schemas']['Notification'])[] | null; pubsub?: (components['schemas']['Notification'])[] | null; [key: string]: unknown }
    Parameter: { name: string; label?: string | null; description?: string | null; default?: unknown; required?: boolean | null; options?: ({ value: string; [key: string]: unknown })[] | null; [key: string]: unknown }
    /** Roles by authorization. Without any role, every user has every authorization; with one, an authorization without roles is given to administrators only, except EXECUTE, which takes the roles of `fiat.executeFallback` (READ). */ Permissions: { READ?: (string)[]; WRITE?: (string)[]; EXECUTE?: (string)[]; CREATE?: (string)[]; [key: string]: unknown }
    /** A pipeline definition; fields that are not listed are kept. */ Pipeline: { /** The application that the pipeline belongs to. */ application: string; name: string; /** Given by the store unless sent. */ id?: string; schema?: string | null; /** `templatedPipeline` for one of a template. */ type?: string | null; description?: string | null; stages?: (components['schemas']['PipelineStage'])[] | null; triggers?: (components['schemas']['PipelineTrigger'])[] | null; parameterConfig?: (components['schemas']['Parameter'])[] | null; expectedArtifacts?: (components['schemas']['ExpectedArtifact'])[] | null; notifications?: (components['schemas']['Notification'])[] | null; /** Place in the list, from 0. */ index?: number | null; disabled?: boolean | null; /** One execution at a time. */ limitConcurrent?: boolean | null; maxConcurrentExecutions?: number | null; keepWaitingPipelines?: boolean | null; /** True for a deployment strategy. */ strategy?: boolean | null; template?: { [key: string]: unknown } | null; variables?: unknown; /** Milliseconds since the epoch; set by the store. */ updateTs?: string | null; /** Set by the store. */ lastModifiedBy?: string | null; [key: string]: unknown }
    /** A stage of a definition; its settings are allowed beside these fields. */ PipelineStage: { /** Missing in a stage whose type is not chosen yet. */ type?: string | null; name?: string | null; /** By which other stages require this one. */ refId?: string | null; /** Stages that must end before. */ requisiteStageRefIds?: (string)[] | null; [key: string]: unknown }
    PipelineTemplate: { id?: string | null; /** `1` or `v2`. */ schema?: string | null; metadata?: { name?: string | null; scopes?: (string)[] | null; [key: string]: unknown } | null; [key: string]: unknown }
    /** What starts a pipeline; the fields of its type are allowed beside these. */ PipelineTrigger: { /** webhook, cron, git, docker, jenkins, pipeline, pubsub, … */ type?: string | null; id?: string | null; enabled?: boolean | null; runAsUser?: string | null; source?: string | null; cronExpression?: string | null; /** Field of the payload to a regular expression for its value. */ payloadConstraints?: { [key: string]: unknown } | null; expectedArtifactIds?: (string)[] | null; [key: string]: unknown }
    /** The definition that would run. */ PlannedPipeline: { /** The application that the pipeline belongs to. */ application?: string; name?: string; /** Given by the store unless sent. */ id?: string; schema?: string | null; /** `templatedPipeline` for one of a template. */ type?: string | null; description?: string | null; stages?: (components['schemas']['PipelineStage'])[] | null; triggers?: (components['schemas']['PipelineTrigger'])[] | null; parameterConfig?: (components['schemas']['Parameter'])[] | null; expectedArtifacts?: (components['schemas']['ExpectedArtifact'])[] | null; notifications?: (components['schemas']['Notification'])[] | null; /** Place in the list, from 0. */ index?: number | null; disabled?: boolean | null; /** One execution at a time. */ limitConcurrent?: boolean | null; maxConcurrentExecutions?: number | null; keepWaitingPipelines?: boolean | null; /** True for a deployment strategy. */ strategy?: boolean | null; template?: { [key: string]: unknown } | null; variables?: unknown; /** Milliseconds since the epoch; set by the store. */ updateTs?: string | null; /** Set by the store. */ lastModifiedBy?: string | null; [key: string]: unknown }
    PluginInfo: { id: string; [key: string]: unknown }
    PreconfiguredStage: { type: string; label?: string | null; description?: string | null; waitForCompletion?: boolean | null; noUserConfigurableFields?: boolean | null; parameters?: ({ [key: string]: unknown })[] | null; [key: string]: unknown }
    /** An error of the request itself, RFC 9457. */ Problem: { type: string; title: string; detail: string; instance?: string; /** ISO 8601 with milliseconds and offset. */ timestamp?: string; status: number; /** Reason phrase of the status. */ error: string; /** What failed, and how to fix it. */ message: string; /** Stable error code; docs/reference/errors.md lists all. */ code?: string; /** Finds the request in the log. */ requestId?: string; /** The service that failed. */ upstream?: { service: string; status?: number; [key: string]: unknown }; [key: string]: unknown }
    Project: { id?: string; name: string; email?: string | null; config?: { applications?: (string)[] | null; clusters?: (components['schemas']['ProjectClusterRule'])[] | null; pipelineConfigs?: ({ application: string; pipelineConfigId: string; [key: string]: unknown })[] | null; [key: string]: unknown } | null; createTs?: number | null; updateTs?: number | null; lastModifiedBy?: string | null; [key: string]: unknown }
    ProjectCluster: { account: string; stack?: string | null; detail?: string | null; /** Each with its clusters and the builds that run there. */ applications?: ({ [key: string]: unknown })[] | null; instanceCounts?: { [key: string]: unknown } | null; [key: string]: unknown }
    ProjectClusterRule: { account: string; /** `*` for all. */ stack?: string | null; /** `*` for all. */ detail?: string | null; applications?: (string)[] | null; [key: string]: unknown }
    QuietPeriod: { enabled?: boolean; inQuietPeriod?: boolean; /** -1 when it is not set. */ startTime?: number; /** -1 when it is not set. */ endTime?: number; [key: string]: unknown }
    /** A Kubernetes object that fits no other list. */ RawResource: { name: string; account?: string | null; region?: string | null; namespace?: string | null; kind?: string | null; apiVersion?: string | null; displayName?: string | null; labels?: { [key: string]: unknown } | null; moniker?: components['schemas']['Moniker'] | null; [key: string]: unknown }
    /** Where to find what was started. */ Ref: { /** Path relative to the base URL: /tasks/{id} or /pipelines/{id}. */ ref: string; [key: string]: unknown }
    RemovedFormUser: { revokedTokens: number }
    ResourceEvent: { type?: string | null; timestamp?: string | null; kind?: string | null; id?: string | null; [key: string]: unknown }
    SavedCanaryConfig: { canaryConfigId?: string; [key: string]: unknown }
    ScalingActivity: { activityId?: string | null; autoScalingGroupName?: string | null; description?: string | null; cause?: string | null; startTime?: unknown; endTime?: unknown; statusCode?: string | null; statusMessage?: string | null; progress?: number | null; /** JSON as text. */ details?: string | null; [key: string]: unknown }
    SearchResultSet: { pageNumber: number; pageSize: number; query?: string | null; platform?: string | null; totalMatches: number; results: ({ type: string; provider?: string | null; [key: string]: unknown })[]; [key: string]: unknown }
    SecurityGroup: { id?: string | null; name: string; type?: string | null; cloudProvider?: string | null; accountName?: string | null; region?: string | null; application?: string | null; description?: string | null; vpcId?: string | null; moniker?: components['schemas']['Moniker'] | null; inboundRules?: ({ [key: string]: unknown })[] | null; outboundRules?: ({ [key: string]: unknown })[] | null; [key: string]: unknown }
    SecurityGroupSummary: { id: string; name: string; vpcId?: string | null; moniker?: components['schemas']['Moniker'] | null; [key: string]: unknown }
    /** Equal instances that are deployed together. */ ServerGroup: { name: string; account?: string | null; region: string; type?: string | null; cloudProvider?: string | null; cluster?: string | null; application?: string | null; moniker?: components['schemas']['Moniker'] | null; createdTime?: number | null; /** Takes no traffic. */ isDisabled?: boolean | null; disabled?: boolean | null; capacity?: components['schemas']['Capacity'] | null; instanceCounts?: components['schemas']['InstanceCounts'] | null; instances?: (components['schemas']['Instance'])[] | null; instanceType?: string | null; loadBalancers?: (unknown)[] | null; securityGroups?: (unknown)[] | null; zones?: (string)[] | null; vpcId?: string | null; buildInfo?: { [key: string]: unknown } | null; image?: { [key: string]: unknown } | null; launchConfig?: { [key: string]: unknown } | null; labels?: { [key: string]: unknown } | null; serverGroupManagers?: ({ [key: string]: unknown })[] | null; insightActions?: ({ url: string; label: string; [key: string]: unknown })[]; [key: string]: unknown }
    ServerGroupEvent: { description?: string | null; cause?: string | null; statusCode?: string | null; statusMessage?: string | null; activityId?: string | null; [key: string]: unknown }
    /** What replaces server groups by newer ones, such as a Kubernetes deployment. */ ServerGroupManager: { name: string; account?: string | null; region?: string | null; namespace?: string | null; kind?: string | null; moniker?: components['schemas']['Moniker'] | null; serverGroups?: ({ [key: string]: unknown })[] | null; [key: string]: unknown }
    ServiceAccount: { name: string; memberOf?: (string)[] | null; [key: string]: unknown }
    ServiceInstance: { name?: string | null; status?: string | null; [key: string]: unknown }
    Snapshot: { /** `{application}-{account}` */ id: string; application: string; account: string; /** Kind of resource to name to definition. */ infrastructure?: { [key: string]: unknown } | null; configLang?: string | null; timestamp?: number | null; lastModified?: number | null; lastModifiedBy?: string | null; [key: string]: unknown }
    /** A stage of an execution. */ Stage: { id: string; refId?: string | null; type: string; name?: string | null; status: components['schemas']['ExecutionStatus']; startTime?: number | null; endTime?: number | null; startTimeExpiry?: number | null; scheduledTime?: number | null; /** Settings, results and errors of the stage. */ context: { [key: string]: unknown }; /** What later stages may read. */ outputs: { [key: string]: unknown }; tasks: (components['schemas']['TaskStep'])[]; requisiteStageRefIds?: (string)[] | null; parentStageId?: string | null; syntheticStageOwner?: "STAGE_BEFORE" | "STAGE_AFTER" | null; lastModified?: { [key: string]: unknown } | null; [key: string]: unknown }
    StageField: { /** Key in the stage, or in the object that it belongs to. */ name: string; /** text, long-text, number, moment, flag, choice, texts, objects, object, map or json. */ kind: string; required: boolean; /** What the engine takes without the field. */ default?: unknown; /** Values to offer. */ choices?: (string)[]; /** Other values are errors. */ onlyChoices: boolean; /** What the values are names of: accounts, clusters, pipelines, and so on. */ choicesFrom?: string; help: string; /** Whether an expression in it is evaluated when the stage runs. */ expression: boolean; /** Keys with the same meaning. */ otherNames?: (string)[]; /** Of the object, or of each object of the list: fields as this one. */ fields?: ({ [key: string]: unknown })[]; [key: string]: unknown }
    StageTypes: { engine: "embedded" | "external"; /** False with an external engine: it may know other types and fields. */ verified: boolean; /** Fields of every stage. */ commonFields: (components['schemas']['StageField'])[]; stageTypes: ({ type: string; label: string; group: string; description: string; /** Where it is meant to run: as a stage of pipelines, or as a job of tasks. */ use: "pipeline" | "task" | "both"; restartable: boolean; /** Whether users may let it end early while it runs. */ skippable: boolean; /** The key that does so, or allows it. */ skipKey?: string; /** Whether this instance can run it. Absent where it is not known. */ runsHere?: boolean; /** Why it does not run here, and what an operator can do. */ reason?: string; fields: (components['schemas']['StageField'])[]; [key: string]: unknown })[]; [key: string]: unknown }
    /** Fields that replace those of the context of a stage. */ StageUpdate: { /** `continue` or `stop`, for a manual judgment. */ judgmentStatus?: string; judgmentInput?: string; /** For a wait. */ skipRemainingWait?: boolean; manualSkip?: boolean; [key: string]: unknown }
    /** The trigger of a start by hand; everything is optional. */ StartRequest: { /** `manual` unless given. */ type?: string; user?: string | null; /** Values of the parameters of the pipeline. */ parameters?: { [key: string]: unknown } | null; artifacts?: (components['schemas']['Artifact'])[] | null; notifications?: (components['schemas']['Notification'])[] | null; dryRun?: boolean | null; /** A second start with the same one is the first while that runs. */ correlationId?: string | null; [key: string]: unknown }
    Subnet: { id?: string | null; type?: string | null; state?: string | null; vpcId?: string | null; cidrBlock?: string | null; account?: string | null; region?: string | null; availabilityZone?: string | null; purpose?: string | null; target?: string | null; deprecated?: boolean | null; [key: string]: unknown }
    Subscription: { pubsubSystem: string; subscriptionName: string; [key: string]: unknown }
    /** Work that belongs to no pipeline. */ Task: { id: string; name?: string | null; application: string; status: components['schemas']['ExecutionStatus']; buildTime?: number | null; startTime?: number | null; endTime?: number | null; steps: (components['schemas']['TaskStep'])[]; /** Results; `exception` has the error. */ variables: ({ key: string; value: unknown; [key: string]: unknown })[]; execution?: components['schemas']['Execution'] | null; [key: string]: unknown }
    TaskFinding: { /** Position of the job, from 0. Absent where it concerns the task as a whole. */ job?: number; /** Name of the stage: of the job, or of one that the job adds. */ stage?: string; /** Path of a field of the job. */ field?: string; message: string; [key: string]: unknown }
    /** What a task does; the fields of its type are allowed beside these. */ TaskJob: { /** createApplication, updateApplication, deleteApplication, upsertProject, resizeServerGroup, … */ type: string; user?: string; reason?: string; [key: string]: unknown }
    /** What would become of a task. */ TaskJudgement: { engine: "embedded" | "external"; /** `refused`: the task would fail as things are now. `depends`: see `open`. */ decision: "accepted" | "refused" | "depends"; /** What the task would fail for. */ objections: (components['schemas']['TaskFinding'])[]; /** What is known only once the task runs. */ open: (components['schemas']['TaskFinding'])[]; /** What the task would do, in order, as far as it gets. */ effects: ({ job: number; stage: string; type: string; /** What the stage does, where it is no operation of the infrastructure. */ message?: string; operation?: string; account?: string; region?: string; /** Names of server groups, instances and the like. */ objects?: (string)[]; /** Of the server group afterwards. */ capacity?: { [key: string]: unknown }; [key: string]: unknown })[]; [key: string]: unknown }
    TaskRequest: { /** The application whose task it is. */ application: string; /** Becomes the name of the task. */ description: string; /** Done one after the other. */ job: (components['schemas']['TaskJob'])[]; [key: string]: unknown }
    /** A step of a stage. */ TaskStep: { id: string; name: string; implementingClass?: string | null; status: components['schemas']['ExecutionStatus']; startTime?: number | null; endTime?: number | null; stageStart?: boolean | null; stageEnd?: boolean | null; loopStart?: boolean | null; loopEnd?: boolean | null; taskExceptionDetails?: { [key: string]: unknown } | null; [key: string]: unknown }
    /** A cluster that must never be without a server group that takes traffic. */ TrafficGuard: { account?: string | null; location?: string | null; stack?: string | null; detail?: string | null; enabled?: boolean | null; [key: string]: unknown }
    /** What started an execution. */ Trigger: { type: string; user?: string | null; /** Values of the parameters of the pipeline. */ parameters?: { [key: string]: unknown } | null; artifacts?: (components['schemas']['Artifact'])[] | null; notifications?: (components['schemas']['Notification'])[] | null; dryRun?: boolean | null; /** A second start with the same one is the first while that runs. */ correlationId?: string | null; rebake?: boolean | null; strategy?: boolean | null; eventId?: string | null; payload?: unknown; /** The execution that started this one, as it was then. */ parentExecution?: { [key: string]: unknown } | null; [key: string]: unknown }
    UpsertEntityTagsBody: (components['schemas']['EntityTag'])[]
    UserIdentity: { username: string; email: string | null; firstName: string | null; lastName: string | null; /** Those of the permission service, or those learnt at login while it knows none. */ roles: (string)[]; /** Accounts that the user may write to, as of the login. */ allowedAccounts: (string)[]; /** The roles once more. */ authorities: ({ authority: string })[]; enabled: true; accountNonExpired: true; accountNonLocked: true; credentialsNonExpired: true }
    Variable: { key: string; value: unknown; description?: string; [key: string]: unknown }
    VariablesEvaluation: { result?: (components['schemas']['Variable'])[]; detail?: { [key: string]: unknown } | null; [key: string]: unknown }
    WebhookAnswer: { /** The event was accepted; whether it starts a pipeline is decided afterwards. */ eventProcessed: boolean; eventId: string | null; [key: string]: unknown }
    /** A JSON document; none counts as `{}`. */ Webhooks1Body: unknown
    /** A JSON document; none counts as `{}`. */ WebhooksBody: unknown
  }
}
