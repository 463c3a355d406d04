/** What tools write when they fail, as data: literals that precede each pattern, and what a line that matches says. */
import type { CauseKind } from './cause.ts'

/**
 * `S` system; `B` specific, by compilers and tests; `M` specific, the message of another tool; `X` exception; `C` general; `H` a hint
 * that counts near the end only; `W` only that something failed; `N` noise; `T` header of a failed test; `step` the begin of a step;
 * `cleanup` what follows is not the failure; `attempt` one of several; `ignored` tolerates the line before it.
 */
export type RuleClass =
  | 'S'
  | 'B'
  | 'M'
  | 'X'
  | 'C'
  | 'H'
  | 'W'
  | 'N'
  | 'T'
  | 'step'
  | 'cleanup'
  | 'attempt'
  | 'ignored'

interface RuleOptions {
  readonly kind?: CauseKind
  /** The last line counts, not the first. */
  readonly isLast?: true
  /** The line is a header: the first of the next lines that matches is the candidate. */
  readonly next?: RegExp
  /** The last match among the next lines. */
  readonly deepest?: RegExp
  /** One of the lines after it (or itself) has to match. */
  readonly near?: RegExp
  /** Following lines that belong to the text. */
  readonly join?: RegExp
  /** Its first group is the text. */
  readonly cut?: RegExp
}

export type RuleRow = readonly [
  /** Any of them, separated by `|`, in lower case. */
  literals: string,
  pattern: RegExp,
  class_: RuleClass,
  options?: RuleOptions,
]

const code = { kind: 'code' } as const
const test = { kind: 'test' } as const
const configuration = { kind: 'configuration' } as const
const dependency = { kind: 'dependency' } as const
const resource = { kind: 'resource' } as const
const network = { kind: 'network' } as const
const permission = { kind: 'permission' } as const

/** Lines of Fairlead's own runner, which repeat the command. */
export const ownTool = 'fairlead'

const something = /\S/
/** Numbers that begin the entries of a list of failures. */
export const numbers = '0) |1) |2) |3) |4) |5) |6) |7) |8) |9) '

/** In the order in which they are tried, by tool; of the candidates of one tool, the rule that stands first wins. */
export const toolRules: readonly (readonly [tool: string, rows: readonly RuleRow[]])[] = [
  [
    ownTool,
    [
      ['step ', /^Step \d+ of \d+: /, 'step'],
      ['failed with ', /^".*" failed with (?:exit code \d+|SIG[A-Z]+)\.$/, 'W'],
    ],
  ],
  [
    'kernel',
    [
      ['killed process', /out of memory: Killed process|Killed process \d+/i, 'S', resource],
      ['segfault at', /\bsegfault at /, 'S', code],
      ['oom-killer', /invoked oom-killer/, 'N'],
    ],
  ],
  [
    'node',
    [
      ['heap out of memory', /JavaScript heap out of memory/, 'S', resource],
      ['node.js v', /^Node\.js v\d/, 'N'],
    ],
  ],
  ['jvm', [['outofmemoryerror', /\bjava\.lang\.OutOfMemoryError\b/, 'S', resource]]],
  [
    'tsc',
    [
      ['error ts', /^\S.*\(\d+,\d+\): error TS\d+: /, 'B', code],
      ['error ts', /^[^\s:][^:]*:\d+:\d+ - error TS\d+: /, 'B', code],
      ['error ts', /^error TS\d+: /, 'B', code],
      ['found ', /^Found \d+ errors?\b/, 'W'],
    ],
  ],
  [
    'eslint',
    [
      [' error', /^\s+\d+:\d+\s+error\s/, 'B', code],
      ['✖', /^✖ \d+ problem/, 'W'],
    ],
  ],
  [
    'golangci-lint',
    [
      ['.go:', /^[^\s:]+\.go:\d+(?::\d+)?: .+ \(typecheck\)$/, 'B', code],
      ['.go:', /^[^\s:]+\.go:\d+(?::\d+)?: .+ \([a-z]\w+\)$/, 'B', code],
      [' issues:', /^\d+ issues:/, 'W'],
    ],
  ],
  [
    'go',
    [
      ['too many errors', /too many errors$/, 'N'],
      ['test.go:', /^\s+\S+_test\.go:\d+:/, 'B', test],
      ['.go:', /^[^\s:][^\s:]*\.go:\d+:(?:\d+:)? /, 'B', code],
      ['panic: ', /^\s*panic: /, 'B', code],
      [
        'fatal error: ',
        /^fatal error: (?:all goroutines|concurrent|stack|runtime|unexpected)/,
        'B',
        code,
      ],
      ['--- fail', /^\s*--- FAIL: /, 'T'],
      ['--- pass|--- skip', /^\s*--- (?:PASS|SKIP)/, 'ignored'],
      ['=== ', /^=== (?:RUN|CONT|NAME|PAUSE)\b/, 'N'],
      ['fail', /^FAIL\s/, 'N'],
      ['go: ', /^go: (?:downloading|finding|extracting|added|upgraded|found|creating)\b/, 'N'],
      ['go: ', /^go: .*(?:: |cannot|missing|unknown|invalid|errors?\b|needed)/, 'M', dependency],
      ['goroutine ', /^goroutine \d+ \[/, 'N'],
    ],
  ],
  [
    'cargo',
    [
      [
        'panicked at',
        /panicked at '/,
        'B',
        { ...test, cut: /^thread '[^']*' panicked at '(.+)', / },
      ],
      [
        'panicked at',
        /panicked at /,
        'B',
        { ...test, next: something, join: /^\s*(?:left|right): / },
      ],
      [
        'error: ',
        /^error: (?:no matching package|failed to (?:select|parse|load|get|fetch|download|resolve|run custom|read|verify)|package .* (?:cannot|requires)|could not find `?Cargo|linking with|the lock file|unable to update|no such)/,
        'M',
        {
          ...dependency,
          join: /^\s*(?:required by|perhaps you meant|candidate versions|location searched)/,
        },
      ],
      ['could not compile', /^error: could not compile /, 'W'],
      ['aborting due to', /^error: aborting due to /, 'W'],
      ['to rerun pass', /^error: .*to rerun pass/, 'W'],
      ['process didn', /process didn't exit successfully/, 'W'],
    ],
  ],
  [
    'rustc',
    [
      ['error[e', /^error\[E\d+\]: /, 'B', code],
      ['error: ', /^error: /, 'B', { ...code, near: /^\s*--> \S+:\d+:\d+/ }],
    ],
  ],
  ['kotlinc', [['.kt:', /^e: \S+/, 'B', code]]],
  ['javac', [['.java:', /^\S+\.java:\d+: error: /, 'B', code]]],
  [
    'maven',
    [
      ['[error]', /^\[ERROR\] (?:\/|[A-Z]:|\w)\S*:\[\d+,\d+\] /, 'B', code],
      ['[error]', /^\[ERROR\]\s+[\w$.]+:\d+(?:->\S+)? /, 'B', test],
      ['[error]', /^\[ERROR\]\s+[\w$.]+ » /, 'B', test],
      [
        '[error]',
        /^\[ERROR\] (?:Tests run:|Failures:|Errors:|COMPILATION ERROR|\[Help|-> |Re-run|For more|To see|After correcting|\s*mvn )/,
        'N',
      ],
      ['there are test failures', /There are test failures/, 'W'],
      ['non-resolvable', /Non-resolvable (?:parent|import) POM/, 'M', dependency],
      [
        'could not resolve dependencies',
        /^\[ERROR\] .*Could not resolve dependencies for project/,
        'M',
        dependency,
      ],
      ['failed to execute goal', /^\[ERROR\] Failed to execute goal .*: Compilation failure/, 'W'],
      ['failed to execute goal', /^\[ERROR\] Failed to execute goal /, 'C'],
      [
        'unknown lifecycle phase|no goals have been',
        /^\[ERROR\] (?:Unknown lifecycle|No goals)/,
        'M',
        configuration,
      ],
      ['time elapsed', /^\[ERROR\] \S+ .*Time elapsed/, 'N'],
      ['[error]', /^\[ERROR\]\s*$/, 'N'],
    ],
  ],
  [
    'gradle',
    [
      [' failed', /^[^\s>][^>]* > .+ FAILED$/, 'B', test],
      ['what went wrong', /^\* What went wrong:/, 'M', { ...configuration, deepest: /^\s*> / }],
      ['execution failed for task', /^Execution failed for task/, 'W'],
      ['there were failing tests', /There were failing tests/, 'W'],
      ['> task', /^> Task :\S+/, 'step'],
      ['build failed', /^FAILURE: Build failed|^BUILD FAILED/, 'W'],
    ],
  ],
  [
    'dotnet',
    [
      ['msb3073', /error MSB3073/, 'W'],
      ['error nu', /(?:^|: )error NU\d+: /, 'B', dependency],
      ['error ', /(?:^|: )(?:fatal )?error (?:CS|FS|BC|MSB|NETSDK|CA)\d+: /, 'B', code],
      ['error message:', /^\s*Error Message:/, 'B', { ...test, next: something }],
    ],
  ],
  [
    'gcc',
    [
      [
        'error|fehler|erreur|erro|fout|błąd|ошибка|エラー|错误|오류',
        /^[^\s:][^:]*:\d+:(?:\d+:)? (?:fatal |internal compiler |schwerwiegender |Fataler )?(?:error|Fehler|erreur|erro|errore|fout|błąd|ошибка|エラー|错误|오류) ?: /i,
        'B',
        code,
      ],
      ['collect2', /^collect2: /, 'W'],
      ['all warnings being', /all warnings being treated as errors/, 'W'],
      ['compilation terminated', /^compilation terminated/, 'W'],
    ],
  ],
  [
    'ld',
    [
      ['undefined reference to', /undefined reference to /, 'B', code],
      ['undefined symbol', /\bundefined symbol: /, 'B', code],
      ['cannot find -l', /cannot find -l/, 'B', dependency],
      ['ld returned', /ld returned \d+ exit status/, 'W'],
    ],
  ],
  [
    'jest',
    [
      ['test suites: |tests: ', /^(?:Test Suites|Tests):\s/, 'N'],
      ['console.', /^\s*console\.(?:error|warn|log|info)\b/, 'N'],
      ['●', /^\s*● .+/, 'T'],
    ],
  ],
  [
    'vitest',
    [
      ['fail ', /^\s*(?:FAIL|❯)\s+\S+ > .+/, 'T'],
      ['fail ', /^\s*FAIL\s+\S+ \[ /, 'T'],
    ],
  ],
  [
    'playwright',
    [
      [' › ', /^\s*\d+\) \[[\w -]+\] › .+/, 'T'],
      ['retry #', /^\s*Retry #\d/, 'N'],
    ],
  ],
  [
    'phpunit',
    [
      [numbers, /^\d+\) \S+::\S+/, 'T'],
      ['failed asserting', /^Failed asserting /, 'B', test],
    ],
  ],
  ['mocha', [[numbers, /^\s+\d+\) \S/, 'T']]],
  ['rspec', [['failure/error:', /^\s*Failure\/Error: /, 'T']]],
  [
    'pytest',
    [
      ['e  ', /^E {2,}\S/, 'B', test],
      [
        'usage: |error: ',
        /^ERROR: (?:usage:|not found:|file or directory not found)/,
        'M',
        configuration,
      ],
      ['failed |error ', /^(?:FAILED|ERROR) [^\s:]+\.py(?: - |:.* - )/, 'B', test],
      ['error collecting', /ERROR collecting /, 'N'],
      ['interrupted:', /Interrupted: \d+ error/, 'W'],
      ['no tests ran', /no tests ran in/, 'N'],
      ['=== ', /^=+ .* =+$/, 'N'],
    ],
  ],
  [
    'pip',
    [
      ['subprocess-exited', /subprocess-exited-with-error/, 'W'],
      [
        'metadata-generation|failed building wheel|failed to build',
        /metadata-generation-failed|Failed building wheel|^ERROR: Failed to build|Could not build wheels|legacy-install-failure/,
        'W',
      ],
      [
        'error: |exception: ',
        /^ +(?:\w+\.)*\w+(?:Error|Exception): \S/,
        'M',
        {
          ...dependency,
          isLast: true,
          near: /end of output|originates from|metadata-generation|Failed building/,
        },
      ],
      ['[notice]', /\[notice\]/, 'N'],
      [
        'error: ',
        /^ERROR: (?:Could not (?:find|install|open|detect)|No (?:matching|version)|Cannot (?:install|uninstall)|Package |Invalid requirement|ResolutionImpossible|Exception:|HTTP error|Ignored the following|.*(?:==|from versions|is not a supported wheel|Requires-Python|requires a different))/,
        'M',
        dependency,
      ],
    ],
  ],
  [
    'uv',
    [
      ['because ', /^[^\w]*Because .+/, 'M', dependency],
      [
        'no solution found|version solving failed',
        /No solution found|^version solving failed/i,
        'W',
      ],
    ],
  ],
  ['poetry', [['changed significantly', /changed significantly since/, 'M', dependency]]],
  [
    'npm',
    [
      [
        'npm err',
        /^npm (?:ERR!|error) (?:Exit status|Failed at the|This is probably|A complete log|In most cases|You can|To see|Did you mean|If you|Note that|Lifecycle script|Test failed|Fix the|@?[^\s@]+@[^\s@]+ [\w:-]+: |(?:code|errno|syscall|path|cwd|command|signal|dest|lifecycle|workspace|location|node_modules|notarget| {2}|\/|-)\b)/,
        'W',
      ],
      [
        'npm err',
        /^npm (?:ERR!|error) Could not resolve dependency:/,
        'M',
        { ...dependency, next: /^npm (?:ERR!|error) \S/ },
      ],
      ['npm err', /^npm (?:ERR!|error) \S.* \S/, 'M', dependency],
      ['npm warn|npm http|npm verb', /^npm (?:warn|WARN|http|verb|notice)\b/, 'N'],
    ],
  ],
  [
    'pnpm',
    [
      ['recursive_', /ERR_PNPM_RECURSIVE_/, 'W'],
      ['elifecycle', /ELIFECYCLE/, 'W'],
      ['err_pnpm_', /ERR_PNPM_\w+/, 'M', dependency],
    ],
  ],
  [
    'yarn',
    [
      ['command failed with exit', /^error Command failed with exit code/, 'W'],
      ['failed with errors', /Failed with errors/, 'W'],
      ['yn0', /^➤ YN(?:0000|0013|0060|0086|0002)/, 'N'],
      ['yn', /^➤ YN(?:0001|0016|0018|0028|0035|0041|0078|0081|0082)/, 'M', dependency],
      ['error ', /^error \S.* \S/, 'M', dependency],
    ],
  ],
  [
    'terraform',
    [
      [
        'error: ',
        /^(?:[│╷╵] ?)*Error: /,
        'M',
        {
          ...configuration,
          near: /^[│╷╵]|^\s+(?:on \S+\.tf line \d|with [\w.]+\[?)/,
          join: /^[│\s]*[A-Z"`'(]/,
        },
      ],
    ],
  ],
  [
    'ansible',
    [
      [
        'failed! =>',
        /^(?:fatal|failed): \[[^\]]*\].*FAILED! =>/,
        'M',
        { ...configuration, cut: /"(?:stderr|msg)": "((?:[^"\\]|\\.)+)"/ },
      ],
      ['unreachable! =>', /^fatal: \[.*UNREACHABLE! => /, 'M', network],
      ['error! ', /^ERROR! /, 'M', configuration],
      ['...ignoring', /^\.\.\.ignoring/, 'ignored'],
    ],
  ],
  [
    'helm',
    [
      [
        'upgrade failed|installation failed',
        /^Error: (?:UPGRADE|INSTALLATION) FAILED: \S/,
        'M',
        configuration,
      ],
      ['upgrade failed|installation failed', /^Error: (?:UPGRADE|INSTALLATION) FAILED/, 'W'],
      [
        'template: |chart',
        /^Error: .*(?:template: |chart|Chart|execution error at)/,
        'M',
        configuration,
      ],
    ],
  ],
  ['kustomize', [['accumulating ', /^Error: accumulating /, 'M', configuration]]],
  [
    'kubectl',
    [
      ['error from server', /^Error from server\b.*: /, 'M', configuration],
      ['unable to connect to the server', /^Unable to connect to the server: /, 'M', network],
      ['connection to the server', /^The connection to the server /, 'M', network],
      ['is invalid:', /^The \S+ ".*" is invalid: /, 'M', configuration],
      [
        'error: ',
        /^error: (?:error (?:validating|parsing|when)|unable to (?:recognize|read|decode)|resource mapping|no matches|timed out waiting|the (?:server|path|namespace)|You must be|deployment |no objects|context |flag )/,
        'M',
        configuration,
      ],
      ['memcache.go', /memcache\.go:/, 'N'],
    ],
  ],
  [
    'docker',
    [
      ['did not complete', /did not complete successfully/, 'W'],
      ['failed to solve: ', /failed to solve: (?:process |executor failed|exit code)/, 'W'],
      ['> [', /^\s*> \[.*\]/, 'N'],
      ['building at step', /building at STEP/, 'W'],
      ['error response from daemon', /Error response from daemon: /, 'M', configuration],
      ['pull access denied', /^ERROR: pull access denied/, 'M', permission],
      ['failed to solve: ', /failed to solve: \S/, 'M', configuration],
      [
        'error: ',
        /^(?:ERROR|error): (?:failed to (?:push|build|fetch)|denied|unauthorized|Cannot connect)/,
        'M',
        configuration,
      ],
      ['cannot connect to the docker', /Cannot connect to the Docker daemon/, 'M', network],
      ['dockerfile parse error', /parse error/, 'M', configuration],
      ['step ', /^(?:STEP|Step) \d+\/\d+ ?:/, 'step'],
      ['] run ', /^\[[^\]]+\] RUN /, 'step'],
    ],
  ],
  [
    'podman',
    [
      [
        'initializing source|pinging container|copying system image|short-name',
        /^Error: .*(?:initializing source|pinging container|copying system image|short-name)/,
        'M',
        dependency,
      ],
    ],
  ],
  [
    'apk',
    [
      [
        'unable to select packages',
        /^ERROR: unable to select packages/,
        'M',
        { ...dependency, join: /^\s+\S+ \(/ },
      ],
    ],
  ],
  [
    'apt',
    [
      ['e: sub-process|e: problem', /^E: (?:Sub-process|Problem executing)/, 'W'],
      [
        'e: unable|e: package|e: fail|e: could|e: the |e: some|e: version|e: broken|e: unmet|e: release',
        /^E: \S/,
        'M',
        dependency,
      ],
    ],
  ],
  [
    'git',
    [
      [
        'remote: ',
        /^remote: (?:error|fatal|ERROR|GitLab|.*(?:denied|exceed|protected|GH\d{3}|not allowed|not found|reject))/,
        'M',
        permission,
      ],
      ['permission denied (', /Permission denied \([\w,-]+\)/, 'M', permission],
      ['could not read from remote', /^fatal: Could not read from remote/, 'W'],
      ['failed to push', /^error: failed to push/, 'W'],
      ['conflict ', /^CONFLICT \(/, 'M', code],
      ['fatal: ', /^fatal: \S/, 'M', configuration],
      ['rejected]', /! \[(?:remote )?rejected\]/, 'M', permission],
      [
        'error: pathspec',
        /^error: (?:pathspec|Your local changes|cannot lock|src refspec)/,
        'M',
        configuration,
      ],
    ],
  ],
  [
    'ssh',
    [
      ['host key verification', /^Host key verification failed/, 'M', permission],
      ['ssh: ', /^ssh: /, 'M', network],
      [
        'kex_exchange|connection closed by',
        /^(?:kex_exchange_identification|Connection closed by)/,
        'M',
        network,
      ],
    ],
  ],
  ['flyway', [['message ', /^\s*Message\s+: \S/, 'M', configuration]]],
  [
    'liquibase',
    [
      ['reason: ', /^\s*Reason: /, 'M', configuration],
      ['migration failed for', /Migration failed for changeset/, 'W'],
    ],
  ],
  [
    'prisma',
    [
      ['database error:', /^\s*Database error:/, 'M', { ...configuration, next: something }],
      ['error: p', /^Error: P\d{4}/, 'C'],
    ],
  ],
  [
    'knex',
    [
      ['failed with error', /migration failed with error: /, 'M', configuration],
      ['migration file', /^migration file .* failed/, 'W'],
    ],
  ],
  [
    'rails',
    [
      ['pg::|mysql2::|sqlite3::', /^(?:PG|Mysql2|SQLite3)::\w+: /, 'M', configuration],
      ['later migrations', /later migrations canceled/, 'W'],
      ['error)', /^[^\s:][^:]*:\d+:in .*\((?:\w+::)*\w*(?:Error|Exception)\)$/, 'M', configuration],
    ],
  ],
  [
    'psql',
    [
      ['current transaction is aborted', /current transaction is aborted/, 'N'],
      ['error:  ', /(?:^|: )ERROR: {2}\S/, 'M', configuration],
      ['psql: ', /^psql: (?:error: )?\S/, 'M', configuration],
    ],
  ],
  ['mysql', [['error ', /^ERROR \d{4} \(\w{5}\)/, 'M', configuration]]],
  [
    'nginx',
    [
      ['[emerg]', /\[emerg\] /, 'M', configuration],
      ['test failed', /^nginx: configuration file .* test failed/, 'W'],
    ],
  ],
  [
    'redis',
    [['fatal config', /FATAL CONFIG FILE ERROR/, 'M', { ...configuration, next: /^>>> / }]],
  ],
  [
    'postgres',
    [
      ['panic:  |fatal:  ', /(?:^|\s)(?:PANIC|FATAL): {2}\S/, 'M', configuration],
      ['log:  ', /(?:^|\s)LOG: {2}/, 'N'],
    ],
  ],
  [
    'systemd',
    [
      ['failed at step', /: Failed at step /, 'M', configuration],
      ['main process exited|failed with result', /Main process exited|Failed with result/, 'W'],
    ],
  ],
  [
    'spring',
    [
      ['description:', /^\s*Description:$/, 'M', { ...configuration, next: something }],
      ['application failed to start', /^APPLICATION FAILED TO START/, 'W'],
      ['error creating bean', /Error creating bean with name/, 'C'],
    ],
  ],
  ['composer', [['problem ', /^\s*Problem \d+$/, 'M', { ...dependency, next: something }]]],
  [
    'php',
    [
      ['php ', /^PHP (?:Fatal|Parse) error: /, 'M', code],
      ['fatal error: ', /^(?:Fatal|Parse) error: .* in \S+/, 'M', code],
    ],
  ],
  [
    'bundler',
    [
      [
        'could not find',
        /^(?:Bundler::GemNotFound: )?(?:Could not find gem|Could not find \S+ in |Bundler could not find)/,
        'M',
        dependency,
      ],
      ['native extension', /Failed to build gem native extension/, 'W'],
      ['bundler cannot continue', /Bundler cannot continue/, 'W'],
    ],
  ],
  [
    'cmake',
    [
      ['cmake error', /^CMake Error at \S+:\d+/, 'M', { ...dependency, next: something }],
      ['cmake error', /^CMake Error: /, 'M', configuration],
      ['configuring incomplete', /Configuring incomplete/, 'N'],
    ],
  ],
  [
    'make',
    [
      ['*** [', /\bmake(?:\[\d+\])?: \*\*\* \[/, 'W'],
      ['ninja: ', /^ninja: build stopped/, 'W'],
      ['*** ', /(?:^g?make(?:\[\d+\])?: |^[^\s:]+:\d+: )\*\*\* \S/, 'M', configuration],
    ],
  ],
  ['curl', [['curl: (', /^curl: \(\d+\) /, 'M', { ...network, isLast: true }]]],
  [
    'wget',
    [
      ['error ', /^ERROR \d{3}: /, 'M', { ...network, isLast: true }],
      [
        'unable to resolve host',
        /^wget: unable to resolve host/,
        'M',
        { ...network, isLast: true },
      ],
    ],
  ],
  ['uvicorn', [['[errno', /^ERROR:\s+\[Errno/, 'M', resource]]],
  [
    'gunicorn',
    [
      ['exception in worker', /Exception in worker process/, 'W'],
      ['worker failed to boot', /Worker failed to boot/, 'N'],
      ['shutting down', /^(?:\[INFO\] )?Shutting down/, 'N'],
    ],
  ],
  [
    'flask',
    [['could not import', /^Error: (?:Could not import|While importing)/, 'M', configuration]],
  ],
  [
    'pod',
    [
      ['failed to pull image', /^(?:Warning\s+)?Failed\s+Failed to pull image /, 'M', dependency],
      ['imagepull', /^(?:Warning\s+)?Failed\s+Error: (?:ErrImagePull|ImagePullBackOff)/, 'W'],
      [
        'failedscheduling|evicted|failedmount|failedcreate|backoff',
        /^Warning\s+(?:FailedScheduling|Evicted|FailedMount|FailedCreate\w*)\s/,
        'M',
        configuration,
      ],
      ['backoff', /^Warning\s+BackOff\s/, 'W'],
    ],
  ],
  [
    'sh',
    [
      ['segmentation fault', /Segmentation fault/, 'S', code],
      ['killed', /: line \d+:\s+\d+ Killed\b/, 'S', { kind: 'killed' }],
      [
        'not found',
        /^\S.*: (?:command )?not found(?:: \S+)?$/,
        'M',
        {
          ...configuration,
          isLast: true,
          near: /command not found|^\S*sh: \d+: |: line \d+: |^\S+: not found/,
        },
      ],
      ['permission denied', /^\S*sh: .*: Permission denied$/, 'M', { ...permission, isLast: true }],
      [
        'unbound variable|parameter not set',
        /: (?:unbound variable|parameter not set)$/,
        'M',
        { ...configuration, isLast: true },
      ],
      ['syntax error', /^\S*sh: .*[Ss]yntax error/, 'M', { ...code, isLast: true }],
      [
        'no such file',
        /^\S*sh: .*: No such file or directory$/,
        'M',
        { ...configuration, isLast: true },
      ],
      ['+ ', /^\++ \S/, 'step'],
      ['aborted', /^Aborted \(core dumped\)/, 'W'],
    ],
  ],
  [
    'exception',
    [
      ['caused by:', /^\s*Caused by:(?: \S|$)/, 'X'],
      ['[cause]:', /^\s*\[cause\]: \S/, 'X'],
      ['suppressed:', /^\s*Suppressed: /, 'X'],
      ['direct cause of', /^The above exception was the direct cause/, 'X'],
      ['during handling of', /^During handling of the above exception/, 'X'],
      ['exception in thread', /^Exception in thread /, 'X'],
      [
        'error|exception|exit|interrupt',
        /^(?:Uncaught )?(?:[A-Za-z_$][\w$]*\.)*[A-Z][\w$]*(?:Error|Exception|Exit|Interrupt|Invalid|ImproperlyConfigured)(?: \[\w+\])?(?:: .+|$)/,
        'X',
      ],
      ['improperlyconfigured|doesnotexist', /^(?:[a-z_]\w*\.)+[A-Z]\w+: .+/, 'X'],
      [
        'error',
        /^(?:Uncaught )?Error(?: \[\w+\])?: \S/,
        'X',
        { near: /^\s+at (?:\S+ \(|async |\/|node:|file:)|^\s+(?:code|errno): / },
      ],
    ],
  ],
]

/** What many tools write; it comes after their own rules. */
export const generalRules: readonly RuleRow[] = [
  [
    'ignor|continuing|allowed to fail|retrying|will retry',
    /\bignor(?:ed|ing)\b|\bcontinuing\b|allowed to fail|\bretrying\b|will retry/i,
    'N',
  ],
  ['skipped|cancel', /(?:skipped|cancell?ed) because/, 'N'],
  [
    'cleaning up|cleanup|clean up|rolling back|after_script|post job|tear',
    /^(?:\W*)(?:cleaning up|clean-?up|rolling back|running after_script|post job|tearing down)\b/i,
    'cleanup',
  ],
  ['giving up', /giving up after/i, 'W'],
  [
    'attempt|try #|try 0|try 1|try 2|try 3|try 4|try 5|try 6|try 7|try 8|try 9',
    /\b(?:attempt|try|retry) #?\d+\b/i,
    'attempt',
  ],
  [
    'warn|notice|debug|trace',
    /\bwarn(?:ing)?s?\b[\]:) ]|level=(?:warn|info|debug)|\b(?:DEBUG|TRACE)\b/i,
    'N',
  ],
  ['✓|✔|√|pass|ok ', /^\s*(?:✓|✔|√|ok\b|PASS(?:ED)?\b)/, 'N'],
  [
    'error|fail|problem',
    /\b(?:0|no) (?:errors?|failures?|failed|problems)\b|\b(?:errors?|failures?|failed)[:=] ?0\b/i,
    'N',
  ],
  ['exit', /\bexit(?:ed)?(?: with)?(?: status| code)?:? ?(?:code )?\d+/i, 'W'],
  [
    'finished with|see the log|see log|errors occurred|error occurred',
    /finished with (?:errors|exit)|see (?:the )?logs? |errors? occurred/i,
    'W',
  ],
  ['failed', /^\S{0,40}\s?(?:build|job|pipeline|command|script|task|tests?) failed\W*$/i, 'W'],
  ['error', /^\d+ (?:errors?|warnings?)\b/, 'W'],
  [
    'no space left|quota exceeded|enospc',
    /no space left on device|(?:disk )?quota exceeded|\bENOSPC\b/i,
    'S',
    resource,
  ],
  ['fatal|panic|critical', /^\[?(?:fatal|panic|critical)(?: error)?\]?(?::|\s)\s*\S/i, 'C'],
  [
    'error|fehler|erreur|erro|fout|błąd|ошибка|エラー|错误|오류|failed',
    /^\[?(?:error|err!?|fehler|erreur|erro|errore|fout|błąd|ошибка|エラー|错误|오류)\]?(?:[:：]|\s)\s*\S/i,
    'C',
  ],
  ['error:', /^(?:error|fatal|failure):$/i, 'C', { next: something }],
  ['failed', /^failed(?::|\s)\s*\S/i, 'C'],
  ['error', /\b(?:ERROR|FATAL)\b\]?:?\s+\S/, 'C'],
  ['error: |fatal: |exception: |panic: ', /\b(?:error|fatal|exception|panic): \S/i, 'C'],
  [
    'failed|failure|cannot|could not|unable to|denied|refused|not found|timed out|no such|invalid|unexpected|econn|enotfound|eacces|unauthorized|forbidden|does not exist|unknown|missing|no route|x509',
    /\b(?:failed|failure|cannot|could not|unable to|denied|refused|not found|timed out|no such|invalid|unexpected|ECONN\w+|ENOTFOUND|EACCES|unauthorized|forbidden|does not exist|unknown|missing|no route|x509)\b/i,
    'H',
  ],
]
