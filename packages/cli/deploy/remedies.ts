/** What a developer can do about a failed deployment, by its reason. */

interface Cause {
  readonly pattern: RegExp
  readonly remedy: (match: RegExpExecArray, app: FailedApp) => string
}

interface FailedApp {
  /** Label of the step, such as `Release` or `Build 3`. */
  readonly step: string
  /** First host of the app. */
  readonly host?: string | undefined
  /** Whether a line of its output says why. */
  readonly isExplained?: boolean
}

const causes: readonly Cause[] = [
  {
    pattern: /ENOSPC|no space left|disk quota|disk of the data directory is/i,
    remedy: () => 'Free some space on the disk of the instance, and deploy again.',
  },
  {
    pattern:
      /\bexit code 127\b|: not found\b|command not found|(?:program "[^"]*" was|executable file) not found/i,
    remedy: ({ input }) => {
      const [, name = ''] = /["\s]([\w./@-]{1,100})"?:? (?:was )?not found/i.exec(` ${input}`) ?? []
      if (name.includes('/'))
        return `"${name}" is not among the files that were sent, or its first line names a program that is missing: a script with the line ends of Windows (CRLF) does. Save it with LF.`
      return `${name === '' ? 'The program of the command' : `"${name}"`} is not in the image: add its package to package.json, requirements.txt or what else names the packages, or correct "command" in .fairlead/app.yml.`
    },
  },
  {
    // A name without a path: a file of the app is not installed.
    pattern:
      /Cannot find (?:module|package) '((?:@[\w.-]+\/)?\w[\w.-]*)['/]|No module named '(\w+)/,
    remedy: ([, node, python]) =>
      python === undefined
        ? `"${node}" is not in the image: add it to "dependencies" of package.json. If it is there, its app is a workspace: deploy the folder above, where packages are installed, without build.from, with a Procfile such as web: npm --prefix packages/web start.`
        : `"${python}" is not in the image: add its package to requirements.txt or what else names the packages.`,
  },
  {
    pattern: /exit code 126|exec: \S+: Permission denied/,
    remedy: () =>
      'A file that is run as a program may not be executed: chmod +x FILE, or name what runs it in "command", such as sh FILE.',
  },
  {
    pattern: /listens there on another address/,
    remedy: () =>
      'Let the program listen on the address in the variable HOST, or on all addresses.',
  },
  {
    pattern: /nothing in its container listens|closed the connection without an answer/,
    remedy: () =>
      'Let the program listen on the port in the variable PORT, on all addresses; or write its own port as "port" of the service in .fairlead/app.yml.',
  },
  {
    pattern: /nothing listens on port (\d+)(?:[^.]*listens on port ([\d, ]+) instead)?/,
    remedy: ([, wanted = '', seen]) =>
      `Let the program listen on the port in the variable PORT, which was ${wanted}${seen === undefined ? '' : `; it opened ${seen.trim()}`}.`,
  },
  {
    pattern: /EADDRINUSE|address already in use/i,
    remedy: () =>
      'Another program has the port that it opens: let it listen on the port in the variable PORT, which is free.',
  },
  {
    pattern: /GET (\S+) on port \d+ answered with status (\d+)/,
    remedy: ([, path = '', status = ''], { host }) => {
      const to = status.startsWith('3')
        ? ' to plain HTTP requests'
        : status === '400'
          ? ' to this host (such as ALLOWED_HOSTS)'
          : ''
      return `${path} answered ${status}${host === undefined ? '' : ` with "Host: ${host}"`}: let it answer 200${to}, or name another path or status as "health" in .fairlead/app.yml.`
    },
  },
  {
    pattern: /did not answer within|did not become ready within/,
    remedy: () => 'Give it more time: health: {start: 120s} in .fairlead/app.yml.',
  },
  {
    pattern: /more memory than its limit|of memory, more than|OOMKilled/i,
    remedy: () => 'Raise "memory" of the service in .fairlead/app.yml, such as memory: 1Gi.',
  },
  {
    pattern: /is taken|belongs to|is claimed/i,
    remedy: () =>
      'Choose another host in .fairlead/app.yml, or remove it from the application that has it.',
  },
]

const guide = 'docs/guides/private-packages.md'
/** What keeps a build from what it fetches. */
const buildCauses: readonly Cause[] = [
  {
    pattern:
      /SELF_SIGNED_CERT|self.signed certificate|CERTIFICATE_VERIFY_FAILED|unable to get (?:local )?issuer|signed by unknown authority/i,
    remedy: () =>
      `Set "ca-file" of the account to the authority of your network, such as /etc/ssl/certs/ca-certificates.crt: ${guide}.`,
  },
  {
    pattern: /\bENOTFOUND\b|\bEAI_AGAIN\b|could not resolve host|failure in name resolution/i,
    remedy: () =>
      `The builds of this machine do not find that host. Behind a proxy, set "proxy" of the account: ${guide}.`,
  },
]

/** One sentence; undefined: the reason says what to do, or nothing is known. */
export function findRemedy(reason: string, app: FailedApp): string | undefined {
  if (/^release$/i.test(app.step))
    return 'Nothing was switched. Correct the "release" command, and deploy again.'
  const isBuild = /^build\b/i.test(app.step)
  for (const { pattern, remedy } of isBuild ? [...buildCauses, ...causes] : causes) {
    const match = pattern.exec(reason)
    if (match !== null) return remedy(match, app)
  }
  if (app.isExplained === true || isBuild) return 'Correct what its output says, and deploy again.'
  return /exit code \d+|ended with/.test(reason)
    ? 'Start its command here with PORT=8080 HOST=127.0.0.1 to see why it ends.'
    : undefined
}
