/** The commands of operators: they work on the machine of an instance and come with the server, not with this package. */
export const operatorCommands: Readonly<Record<string, string>> = {
  serve: 'start the gateway (what npm start runs)',
  backends: 'serve the embedded back ends to gateways in other processes',
  stop: 'stop the gateway; with --all, also what it has deployed on this machine',
  check: 'check the configuration without starting',
  health: 'ask a running gateway how it is; for health checks',
  doctor: 'examine the installation: addresses, services, logins, certificates',
  explain: 'explain a login step by step, or whether a user may call an operation',
  openapi: 'print the OpenAPI document of everything that is served',
  user: 'manage the users of the login form: add|passwd|roles|unlock|list|remove',
  token: 'manage API tokens of users and service accounts: create|list|rotate|revoke',
  image: 'manage the images of this machine: push|list|show|remove',
  backup: 'write all that the data directory holds into one file',
  restore: 'put a backup into an empty data directory',
  move: 'take definitions over from Front50, Gate or a file, or write them into a file',
  dashboards: 'print dashboards for Grafana and alerts for Prometheus',
  setup: 'setup server: user, units, ports 80 and 443, first administrator, as root',
  install: 'write units for systemd, their user and a first configuration',
  audit: 'verify that no record of the audit log was altered or is missing',
}

/** Started by other programs only, so no help lists them. */
const hiddenCommands = ['agent']

export function isOperatorCommand(name: string): boolean {
  return Object.hasOwn(operatorCommands, name) || hiddenCommands.includes(name)
}
