/** Jenkins, as a kind of build server. */
import type { BuildServerType } from '../build-server.ts'
import { JenkinsServer } from './jenkins-server.ts'
import { type JenkinsSettings, jenkinsKeys, toJenkinsSettings } from './settings.ts'

export const jenkinsType: BuildServerType<readonly JenkinsSettings[]> = {
  id: 'jenkins',
  keys: jenkinsKeys.keys,
  toSettings: toJenkinsSettings,
  open: (servers, context) => servers.map((server) => new JenkinsServer(server, context)),
}
