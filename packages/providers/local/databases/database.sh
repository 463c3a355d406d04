# A database beside an app: sh ./database serve | backup | check-restore [FILE] | check-upgrade MAJOR | await-restore | await-result | remove | connect [ARGUMENT...]
# It is copied into the image of the database as it is. No password is an argument of any program.
set -eu
umask 077
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
type=$DATABASE_TYPE name=$DATABASE_NAME password=$DATABASE_PASSWORD
# The user with the password that the next rotation gives to the services, or that the last one did.
other=${name}_b other_password=$DATABASE_OTHER_PASSWORD
backups=$FAIRLEAD_VOLUME_BACKUPS
# The folder of the server, open as descriptor 8: a server of another user reaches it, whatever lies above it.
here=/proc/self/fd/8
drop=
counts=

say() { echo "database: $*"; }
fail() {
  say "$*" >&2
  exit 1
}
needs() { command -v "$1" >/dev/null || fail "$1 is not installed: apt-get install $2"; }

# --- serving ---------------------------------------------------------------------------------------------------------------------

serve() {
  cd "$FAIRLEAD_VOLUME_DATA"
  exec 9>lock
  flock -w 60 9 || fail "another process uses the volume $FAIRLEAD_VOLUME_DATA"
  # A removal that was not carried out: it is wanted again.
  rm -f "$backups/.remove"
  if [ -s "$backups/.restore" ]; then
    file=$(cat "$backups/.restore")
    renew .restore "restored $file" build "$backups/$file"
  fi
  if [ -s "$backups/.upgrade" ]; then
    to=$(cat "$backups/.upgrade")
    renew .upgrade "upgraded to $to" move "$to"
  fi
  if [ ! -e current ]; then build; fi
  cd current
  exec 8<.
  cd /
  "${family}_serve"
  trap 'kill -s "$stop" "$server"' TERM INT
  code=1
  while kill -0 "$server" 2>/dev/null; do wait "$server" && code=0 || code=$?; done
  if [ -e "$backups/.remove" ]; then
    cd "$FAIRLEAD_VOLUME_DATA"
    rm -rf current data-*
    (cd "$backups" && dumps | tail -n +2 | xargs -r rm -f -- && rm -f .version .remove)
    say 'its data are removed, its last backup stays'
  fi
  exit "$code"
}

# start SIGNAL PROGRAM...: the server gets the signal to end, also where this shell is killed, and has the lock for as long as it runs.
start() {
  stop=$1
  shift
  exec 7<&0
  # shellcheck disable=SC2086
  $drop setpriv --pdeathsig "$stop" -- "$@" <&7 7<&- &
  server=$!
  exec 7<&-
}

until_ready() {
  until "$@" >/dev/null 2>&1; do
    kill -0 "$server" 2>/dev/null || fail 'the server has ended while it was to load'
    sleep 0.2
  done
}

end_server() {
  kill -s "$stop" "$server"
  wait "$server"
}

# build [FILE]: a new folder, empty or with a dump, takes the place of the present one once it is complete.
build() (
  rm -rf new
  mkdir new
  folder=$PWD
  cd new
  exec 8<.
  cd /
  "${family}_create"
  if [ $# -gt 0 ]; then "${family}_load" "$1"; fi
  cd "$folder"
  sync
  next=data-$(date -u +%Y%m%dT%H%M%SZ)
  mv new "$next"
  ln -sfn "$next" link
  mv -T link current
  # The one before stays, for a restore that was a mistake.
  for old in $(ls -d data-* | sort -r | tail -n +3); do rm -rf "$old"; done
)

# renew ORDER RESULT COMMAND...: carries an order out by a command that makes a new folder; what fails leaves the present one.
renew() {
  order=$1 result=$2
  shift 2
  say "carries out: $*"
  set +e
  (
    set -e
    "$@"
  ) >"$backups/.log" 2>&1
  code=$?
  set -e
  cat "$backups/.log"
  if [ "$code" = 0 ]; then echo "$result"; else tail -n 5 "$backups/.log"; fi >"$backups/.result"
  rm "$backups/$order"
}

# move MAJOR: dumps the present folder, to which nobody writes now, and builds one of the version with it; both have the same rows.
move() {
  (
    cd current
    exec 8<.
    cd /
    postgresql_export "$1"
  )
  counts=$backups/.counts
  DATABASE_VERSION=$1
  build "$backups/.dump-upgrade"
  rm "$backups/.dump-upgrade" "$counts"
}

# --- jobs ------------------------------------------------------------------------------------------------------------------------

backup() {
  cd "$backups"
  part=.part-$$
  trap 'rm -f "$part"' EXIT
  "${family}_dump" "$part"
  [ -s "$part" ] || fail 'the backup is empty'
  "${family}_check" "$part"
  sync "$part"
  file=$(date -u +%Y%m%dT%H%M%SZ).$suffix
  mv "$part" "$file"
  dumps | tail -n "+$((DATABASE_KEEP + 1))" | while read -r old; do rm -f -- "$old"; done
  say "kept $file, $(wc -c <"$file") bytes"
}

dumps() { (cd "$backups" && ls | grep "\.$suffix\$" | sort -r || :); }

check_restore() {
  file=${1:-$(dumps | head -n 1)}
  [ -n "$file" ] || fail 'there is no backup yet'
  [ -s "$backups/$file" ] || fail "there is no backup $file, only: $(dumps | tr '\n' ' ')"
  "${family}_check" "$backups/$file"
  rm -f "$backups/.result"
  echo "$file" >"$backups/.wish"
  mv "$backups/.wish" "$backups/.restore"
}

check_upgrade() {
  to=$1
  [ "${DATABASE_VERSION:-$to}" = "$to" ] || fail "the app file has version $DATABASE_VERSION: write version: $to there, deploy, and repeat this"
  present=$(cat "$backups/.version")
  [ "$to" -ge "$present" ] || fail "the database is one of PostgreSQL $present, and a dump is not loaded into an older one"
  postgresql_programs "$to"
  rm -f "$backups/.result"
  echo "$to" >"$backups/.wish"
  mv "$backups/.wish" "$backups/.upgrade"
}

await_result() {
  while [ -e "$backups/.restore" ] || [ -e "$backups/.upgrade" ]; do sleep 0.5; done
  cat "$backups/.result"
  grep -Eq '^(restored|upgraded) ' "$backups/.result"
}

# --- PostgreSQL ------------------------------------------------------------------------------------------------------------------

# postgresql_programs MAJOR: of that version; where it is empty, of the newest that is installed.
postgresql_programs() {
  bin=$(ls -d /usr/lib/postgresql/${1:-*}/bin 2>/dev/null | sort -V | tail -n 1)
  [ -x "$bin/postgres" ] || fail "PostgreSQL $1 is not installed: apt-get install postgresql${1:+-$1}"
  # It refuses to run as root.
  if [ "$(id -u)" = 0 ]; then drop='setpriv --reuid=postgres --regid=postgres --init-groups --'; fi
}

# Commands of standard input, a line each, without a server.
postgresql_single() {
  $drop "$bin/postgres" --single -D $here -c log_min_error_statement=panic -c log_checkpoints=off postgres >$here/single.log 2>&1 || echo FATAL: >>$here/single.log
  if grep -E '(ERROR|FATAL|PANIC):' $here/single.log >&2; then fail 'the database cannot be prepared'; fi
  rm $here/single.log
}

# The major version changes by an upgrade alone.
postgresql_create() {
  postgresql_programs "${DATABASE_VERSION:-$(cat "$backups/.version" 2>/dev/null || :)}"
  if [ -n "$drop" ]; then chown postgres: $here/.; fi
  $drop "$bin/initdb" -D $here --username=postgres --encoding=UTF8 --locale=C.UTF-8 --data-checksums --auth=trust >/dev/null
  # The app comes by TCP; the socket is there only while a dump is loaded.
  printf 'local all all trust\nhost all all all scram-sha-256\n' >$here/pg_hba.conf
  printf 'CREATE ROLE "%s" LOGIN\nCREATE DATABASE "%s" OWNER "%s"\n' "$name" "$name" "$name" | postgresql_single
}

postgresql_start_aside() {
  start INT "$bin/postgres" -D $here -k $here -c listen_addresses=
  until_ready "$bin/pg_isready" -h $here -U postgres
}

postgresql_load() {
  postgresql_start_aside
  "$bin/pg_restore" -h $here -U postgres -d "$name" --exit-on-error --no-owner --role="$name" "$1"
  if [ -n "$counts" ]; then
    postgresql_counts | cmp - "$counts" || fail 'the tables have other numbers of rows than before'
  fi
  end_server
}

# postgresql_export MAJOR: a dump by the programs of that version, and the rows of each table.
postgresql_export() {
  postgresql_programs "$1"
  dump=$bin/pg_dump
  postgresql_programs "$(cat $here/PG_VERSION)"
  postgresql_start_aside
  trap end_server EXIT
  postgresql_counts >"$backups/.counts"
  "$dump" -Fc -h $here -U postgres -f "$backups/.dump-upgrade" "$name"
}

postgresql_counts() {
  "$bin/psql" -XAtq -v ON_ERROR_STOP=1 -h $here -U postgres -d "$name" <<'SQL'
SELECT format('SELECT %L, count(*) FROM %s', c.oid::regclass, c.oid::regclass) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname !~ '^pg_|^information_schema$' ORDER BY c.oid::regclass::text \gexec
SQL
}

postgresql_serve() {
  postgresql_programs "$(cat $here/PG_VERSION)"
  cat $here/PG_VERSION >"$backups/.version"
  postgresql_single <<SQL
DO \$\$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '$other') THEN CREATE ROLE "$other" LOGIN; END IF; END \$\$
GRANT "$name" TO "$other"
ALTER ROLE "$other" SET role = '$name'
ALTER ROLE "$name" PASSWORD '$password'
ALTER ROLE "$other" PASSWORD '$other_password'
SQL
  start INT "$bin/postgres" -D $here -p "$PORT" -c "listen_addresses=$HOST" -c unix_socket_directories= </dev/null
}

postgresql_dump() {
  postgresql_programs "$(cat "$backups/.version")"
  PGPASSWORD=$password "$bin/pg_dump" -Fc -h 127.0.0.1 -p "$DATABASE_PORT" -U "$name" -f "$1" "$name"
}

postgresql_check() {
  postgresql_programs "$(cat "$backups/.version")"
  "$bin/pg_restore" --list "$1" >/dev/null
}

postgresql_connect() {
  needs psql postgresql-client
  PGPASSWORD=$password exec psql -h "$HOST" -p "$PORT" -U "$name" -d "$name" "$@"
}

# --- Redis and Valkey ------------------------------------------------------------------------------------------------------------

redis_create() { needs "$type-server" "$type-server"; }

redis_settings() {
  printf 'dir %s/\nsave ""\nmaxmemory %smb\nmaxmemory-policy %s\n' $here $((DATABASE_MEMORY_MB * 3 / 4)) "$DATABASE_EVICTION"
}

redis_load() {
  cp "$1" $here/dump.rdb
  start TERM "$type-server" - <<SETTINGS
$(redis_settings)
port 0
unixsocket $here/load.sock
appendonly no
SETTINGS
  ask() { "$type-cli" -s $here/load.sock "$@"; }
  until_ready sh -c '[ "$("$0" -s "$1" ping)" = PONG ]' "$type-cli" $here/load.sock
  ask config set appendonly yes
  while ask info persistence | grep -q 'aof_rewrite_\(in_progress\|scheduled\):1'; do sleep 0.2; done
  ask info persistence | grep -q 'aof_last_bgrewrite_status:ok' || fail 'the append-only file cannot be written'
  end_server
  rm -f $here/dump.rdb $here/load.sock
}

redis_serve() {
  needs "$type-server" "$type-server"
  start TERM "$type-server" - <<SETTINGS
$(redis_settings)
bind $HOST
port $PORT
user default on >$password >$other_password ~* &* +@all
appendonly yes
appendfsync $DATABASE_PERSISTENCE
SETTINGS
}

redis_dump() { REDISCLI_AUTH=$password "$type-cli" -h 127.0.0.1 -p "$DATABASE_PORT" --rdb "$1"; }
redis_check() { "$type-check-rdb" "$1" >/dev/null; }
redis_connect() { REDISCLI_AUTH=$password exec "$type-cli" -h "$HOST" -p "$PORT" "$@"; }

# --- MariaDB ---------------------------------------------------------------------------------------------------------------------

mariadb_version() { mariadbd --version | sed 's/.*Ver \([0-9]*\.[0-9]*\).*/\1/'; }

# Root comes by the socket only, as the user of this machine that runs it.
mariadb_create() {
  needs mariadbd mariadb-server
  user=$(id -un)
  mariadb-install-db --no-defaults --datadir=$here --user="$user" --auth-root-authentication-method=socket --auth-root-socket-user="$user" --skip-test-db >/dev/null
  mariadb_version >$here/fairlead-version
}

mariadb_start() { start TERM mariadbd --no-defaults --datadir=$here --user="$(id -un)" --socket=$here/mariadb.sock --pid-file=$here/mariadb.pid --skip-name-resolve --skip-log-bin "$@"; }

mariadb_load() {
  mariadb_start --skip-networking </dev/null
  until_ready mariadb-admin --no-defaults --socket=$here/mariadb.sock ping
  mariadb-admin --no-defaults --socket=$here/mariadb.sock create "$name"
  mariadb --no-defaults --socket=$here/mariadb.sock "$name" <"$1"
  end_server
}

mariadb_serve() {
  needs mariadbd mariadb-server
  made=$(cat $here/fairlead-version)
  [ "$made" = "$(mariadb_version)" ] || fail "the database is one of MariaDB $made, and $(mariadb_version) is installed: install $made"
  mariadb_start --bind-address="$HOST" --port="$PORT" --max-connect-errors=4294967295 --log-warnings=1 --init-file=/proc/self/fd/0 <<SQL
CREATE DATABASE IF NOT EXISTS \`$name\` CHARACTER SET utf8mb4;
CREATE USER IF NOT EXISTS '$name'@'%';
ALTER USER '$name'@'%' IDENTIFIED BY '$password';
GRANT ALL ON \`$name\`.* TO '$name'@'%';
CREATE USER IF NOT EXISTS '$other'@'%';
ALTER USER '$other'@'%' IDENTIFIED BY '$other_password';
GRANT ALL ON \`$name\`.* TO '$other'@'%';
SQL
}

mariadb_dump() { MYSQL_PWD=$password mariadb-dump --no-defaults --single-transaction --routines --triggers --events -h 127.0.0.1 -P "$DATABASE_PORT" -u "$name" --result-file="$1" "$name"; }
mariadb_check() { tail -n 1 "$1" | grep -q 'Dump completed' || fail 'the backup is not complete'; }
mariadb_connect() { MYSQL_PWD=$password exec mariadb --no-defaults -h "$HOST" -P "$PORT" -u "$name" "$@" "$name"; }

# ---------------------------------------------------------------------------------------------------------------------------------

case $type in
  postgresql) family=postgresql suffix=dump ;;
  mariadb) family=mariadb suffix=sql ;;
  *) family=redis suffix=rdb ;;
esac
command=$1
shift
case $command in
  serve | backup) "$command" ;;
  check-restore) check_restore "$@" ;;
  check-upgrade) check_upgrade "$@" ;;
  await-restore | await-result) await_result ;;
  # Its data go when it stops the next time.
  remove) : >"$backups/.remove" ;;
  connect) "${family}_connect" "$@" ;;
  *) fail "there is no command $command" ;;
esac
