/** What the commands of operators take: apart from them, so that help loads none. */

const usages: Readonly<Record<string, string>> = {
  serve: `Usage: fairlead serve [options]

  --config FILE   another configuration file; may be repeated, later wins
  --strict        every unknown key of the configuration prevents the start

Starts the gateway. On SIGTERM or SIGINT (Ctrl-C) it finishes running requests and exits. On SIGHUP it reads the configuration again.
`,
  backends: `Usage: fairlead backends [options]

  --standby       wait while another process serves them, and take over when it ends
  --config FILE   another configuration file; may be repeated, later wins
  --strict        every unknown key of the configuration prevents the start

Serves the embedded back ends on backends.address and backends.port to gateways that show backends.key (FAIRLEAD_BACKENDS_KEY)
or a client certificate. A gateway uses them with services.embedded.baseUrl and the same key. Give both the same configuration.
`,
  stop: `Usage: fairlead stop [options]

  --all           also stops the deployed programs and load balancers of this machine; the next start starts them again
  --config FILE   another configuration file; may be repeated, later wins

Stops the Fairlead that uses the configured data directory, after its running requests. Deployed programs keep running.
`,
  check: `Usage: fairlead check [options]
       fairlead check FILE... [options]

  --config FILE   another configuration file; may be repeated, later wins
  --strict        every unknown key of the configuration prevents the start; with files, errors and warnings end with 1

Reads the configuration, opens every file that it names, and checks the data directory, the ports and the clusters of accounts. Starts and changes nothing; a
gateway may run meanwhile. Exits with 1 if a start would fail; a port or a data directory in use is a note only.

With files, checks the pipelines, strategies, templates, canary configurations and applications in them instead (JSON, YAML, or what
fairlead move --to has written), and prints what a save would find. They may refer to each other, and to what the data directory has.
`,
  health: `Usage: fairlead health [options]

  --ready           whether it takes requests now, rather than whether it runs
  --config FILE     another configuration file; may be repeated, later wins

Exits with 0 when the Fairlead of this configuration on this machine answers so, and otherwise with 1. Where every connection needs a
client certificate, and no management.server.port is set, it is asked for a connection only.
`,
  doctor: `Usage: fairlead doctor [options]

  --public-url URL   address of the gateway as browsers see it (default: http.publicUrl, or what redirect addresses say)
  --proxy ADDRESS    address from which the proxy in front connects (default: one of
                     server.tomcat.remoteip.internal-proxies)
  --json             prints JSON
  --config FILE      another configuration file; may be repeated, later wins

Starts nothing; a gateway may run meanwhile. Exits with 1 if there is a problem.
`,
  'explain login': `Usage: fairlead explain login <credentials> [options]

  --user NAME              a user of the form, a directory or a trusted header
  --password               with --user: read the password from standard input and try it; without it, only search
  --token TOKEN            an API token or a bearer token; - reads it from standard input
  --certificate FILE       a client certificate, PEM
  --saml-response FILE     the SAMLResponse of a browser, base64 or XML
  --id-token FILE          an ID token of the provider
  --claims FILE            what a provider says about a user, JSON
  --registration ID        with --id-token and --claims: the registration of the provider (default: the first)
  --public-url URL         with --saml-response: address of the gateway as browsers see it
  --at TIME                check as of this time, such as 2026-01-31T12:00:00Z
  --json                   prints JSON
  --config FILE            another configuration file; may be repeated, later wins

The command logs no user in, and credentials stay usable. It exits with 1 if the login would fail.
`,
  'explain access': `Usage: fairlead explain access --user NAME --operation OPERATION [options]

  --user NAME              the user
  --operation OPERATION    an id such as savePipelineUsingPOST, or a request such as "POST /pipelines"
  --application NAME       the application of the request
  --account NAME           the account of the request
  --build-service NAME     the build service of the request
  --service-account NAME   the service account in runAsUser of a trigger
  --config FILE            another configuration file; may be repeated, later wins

The operation is not executed. Exits with 1 if the user may not call it.
`,
  openapi: `Usage: fairlead openapi

Prints the OpenAPI document of all operations, as JSON. It reads no configuration.
`,
  user: `Usage: fairlead user <action> [NAME] [options]

  add NAME [--role ROLE]…     create a user; the password is read from standard input; without a role, a terminal
                              prompts for one, and otherwise the user is one of the readers
  passwd NAME                 set a new password, read from standard input
      --revoke-tokens         also revoke the API tokens of the user
      --keep-tokens           keep them; without either option, a terminal prompts, and otherwise they are kept
  roles NAME [--role ROLE]…   replace the roles of a user
  unlock NAME                 reset the count of wrong passwords, so that the user need not wait
  list                        names and roles of all users
  remove NAME                 delete a user, with the API tokens

  --config FILE               another configuration file; may be repeated, later wins

A running gateway applies changes at once, and ends the sessions of a user whose password, roles or account changed.
With Redis, unlock applies to all replicas. With LDAP, it takes the name that the user types.
`,
  token: `Usage: fairlead token <action> [options]

  create NAME --user USER              create a token for a user
  create NAME --service-account NAME   create a token for a service account
      --days N               lifetime in days; by default the maximum for users, unlimited for service accounts
      --read-only            allow reading and the evaluation of expressions only
      --application NAME…    allow only requests for these applications
      --operation ID…        allow only the operations with these ids
  list [--user USER | --service-account NAME]
  rotate ID [--overlap-hours N]        replace the secret; the former one stays valid for N hours (default: 24)
  revoke ID                            revoke a token at once

  --config FILE              another configuration file; may be repeated, later wins

The command writes only the new secret to standard output. It cannot be shown again.
`,
  image: `Usage: fairlead image <action> [options]

  push NAME:VERSION PATH      store a directory, or a tar archive, as an image; .git stays out,
                              as do sockets, FIFOs and devices, which are named
      --account NAME…         accounts that get it; all unless given
      --region NAME…          regions that get it; all unless given
      --label NAME=VALUE…     facts about the build, such as commit=1a2b3c
      --tag NAME=VALUE…       marks that can be changed later, such as stage=test
  list                        the images, the newest first
  show NAME:VERSION           all details of an image
  remove NAME:VERSION         delete an image that no server group uses

  --url URL                   the Fairlead of another machine, with the API token in FAIRLEAD_TOKEN
  --config FILE               another configuration file; may be repeated, later wins

Without --url, the command calls the Fairlead that uses the configured data directory, with the rights of its owner.
`,
  backup: `Usage: fairlead backup FILE [options]

  --encrypt            encrypt with a passphrase, read from standard input
  --recipient KEY…     encrypt for a public key of age, such as age1…
  --config FILE        another configuration file; may be repeated, later wins

Writes all that the data directory holds into FILE, or to standard output where FILE is "-". Fairlead may run meanwhile.
The key of the secrets comes along in an encrypted backup only.
`,
  restore: `Usage: fairlead restore FILE [options]

  --identity FILE      secret keys of age, where the backup was encrypted for a public key
  --config FILE        another configuration file; may be repeated, later wins

Puts the backup FILE into the configured data directory, which must be empty or absent. The passphrase of an encrypted backup is
read from standard input. The next start starts the programs that were deployed, and continues executions that ran.
`,
  move: `Usage: fairlead move --from URL|FILE [options]
       fairlead move --to FILE [options]

  --from URL|FILE      a Front50, a Gate or Fairlead (API token in FAIRLEAD_TOKEN), or a file that --to has written
  --to FILE            write the definitions of this data directory into FILE; Fairlead may run meanwhile
  --dry-run            print the report only; Fairlead may run meanwhile
  --replace            replace objects that exist with other content
  --strict             refuse objects with errors, such as unknown stage types, instead of reporting them
  --user NAME          name of an administrator, for a Front50 that asks Fiat
  --config FILE        another configuration file; may be repeated, later wins

Moves applications, permissions, pipelines, strategies, templates, projects, notifications and service accounts with the
histories that the source shows into the configured data directory, while no Fairlead runs with it. The report lists what does
not fit. A second run changes nothing. Executions come with backup and restore only.
`,
  dashboards: `Usage: fairlead dashboards [NAME]

Prints a dashboard for Grafana as JSON, or with the name alerts.yml the rules for Prometheus. Without a name, it lists them.
`,
  install: `Usage: fairlead install --systemd [options]

  --dry-run    print what would be written, and change nothing

Creates the user fairlead and writes units that run this Node and this program: fairlead (fairlead serve), fairlead-agent@ (deployed
programs) and fairlead-backends (fairlead backends). An existing configuration stays. Starts nothing.
`,
  setup: `Usage: fairlead setup server [options]

  --host HOST       address of Fairlead itself, with a certificate; its DNS record has to lead to this machine
  --email ADDRESS   where Let's Encrypt may write to; given, hosts of applications get certificates
  --dry-run         print what would be written, and change nothing

As root: creates the user fairlead, its units and a configuration with applications on the ports 80 and 443, creates the first
administrator, starts everything, and prints the address to open. What exists stays; run it again after an upgrade.
`,
  audit: `Usage: fairlead audit verify                    the log of the configuration
       fairlead audit verify FILE…              files of audit.sink: file, the oldest first
       fairlead audit verify --sqlite [FILE]    the database; by default that of the data directory

  --expect HASH   hash of a record that must be present, such as the last one of an earlier verification
  --config FILE   another configuration file; may be repeated, later wins

A gateway may write meanwhile. Exits with 1 if a record was altered or is missing.
`,
  agent: `Usage: fairlead agent [options]

  --config FILE   another configuration file; may be repeated, later wins

Runs the agent, which owns the deployed programs and load balancers of this machine. Fairlead starts it by itself when it is needed,
unless local.start-agent is false. With FAIRLEAD_DATA_DIR, it reads no configuration. SIGTERM ends the agent alone: programs go on, and
the next agent adopts them. Where one works already, a service manager with notifications supervises that one.
`,
}

/** Usage of a command; of the kind in its first word where it has several, or of all. */
export function usageOf(name: string, [kind]: readonly string[]): string {
  const own = usages[`${name} ${kind}`] ?? usages[name]
  const kinds = Object.keys(usages).filter((key) => key.startsWith(`${name} `))
  return own ?? kinds.map((key) => usages[key]).join('\n')
}
