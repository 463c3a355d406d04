{{/* Labels of the release; the component stands beside them. */}}
{{- define "fairlead.labels" -}}
app.kubernetes.io/name: fairlead
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* What the layout needs in fairlead.yml; .Values.config is merged over it. */}}
{{- define "fairlead.config" -}}
server:
  forward-headers-strategy: native
  drain-ms: 10s
spring:
  lifecycle: { timeout-per-shutdown-phase: 30s }
{{- if ne .Values.layout "standalone" }}
redis: { connection: 'redis://redis:6379' }
{{- end }}
{{- if eq .Values.layout "gateway" }}
services:
  clouddriver: { baseUrl: 'http://spin-clouddriver:7002' }
  echo: { baseUrl: 'http://spin-echo:8089' }
  fiat: { baseUrl: 'http://spin-fiat:7003', enabled: true }
  front50: { baseUrl: 'http://spin-front50:8080' }
  igor: { baseUrl: 'http://spin-igor:8088' }
  orca: { baseUrl: 'http://spin-orca:8083' }
  rosco: { baseUrl: 'http://spin-rosco:8087' }
{{- end }}
{{- if eq .Values.layout "apart" }}
backends:
  address: 0.0.0.0
{{- with .Values.backends.copy }}
  lease: kubernetes
  copy: {{ . | quote }}
secrets: { key-file: /opt/fairlead/keys/secrets.key }
{{- end }}
services:
  embedded:
    baseUrls:
    {{- range until 2 }}
    - http://{{ $.Release.Name }}-backends-{{ . }}.{{ $.Release.Name }}-backends:7010
    {{- end }}
{{- end }}
{{- end }}

{{/* Of every pod. */}}
{{- define "fairlead.pod" -}}
terminationGracePeriodSeconds: 60
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- end }}

{{/* Of a pod with back ends: its first process collects what deployed programs leave behind. */}}
{{- define "fairlead.podWithBackends" -}}
{{ include "fairlead.pod" . }}
shareProcessNamespace: true
{{- if or .Values.serviceAccountName (include "fairlead.hasCopy" .) }}
serviceAccountName: {{ include "fairlead.backendsAccount" . }}
{{- else }}
automountServiceAccountToken: false
{{- end }}
{{- end }}

{{/* Whether the engine and its standby have volumes of their own. */}}
{{- define "fairlead.hasCopy" -}}
{{- if and (eq .Values.layout "apart") .Values.backends.copy }}yes{{ end }}
{{- end }}

{{- define "fairlead.backendsAccount" -}}
{{ .Values.serviceAccountName | default (printf "%s-backends" .Release.Name) }}
{{- end }}

{{/* Of every container. */}}
{{- define "fairlead.container" -}}
image: {{ required "image: name the image that you have built, such as registry.example/fairlead:0.1.0" .Values.image }}
envFrom: [{ secretRef: { name: {{ .Values.secretName | default .Release.Name }} } }]
{{- with .Values.env }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: [ALL] } }
volumeMounts:
  - { name: config, mountPath: /opt/spinnaker/config, readOnly: true }
  - { name: data, mountPath: /var/lib/fairlead }
  - { name: tmp, mountPath: /tmp }
{{- end }}

{{/* Of every container that takes requests of clients. */}}
{{- define "fairlead.gateway" -}}
ports: [{ name: http, containerPort: 8084 }]
readinessProbe: { httpGet: { path: /readyz, port: http }, periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 2 }
livenessProbe: { httpGet: { path: /livez, port: http }, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 }
resources: {{ toJson .Values.resources }}
{{- end }}

{{/* Of every pod that takes requests of clients. */}}
{{- define "fairlead.annotations" -}}
checksum/config: {{ include (print .Template.BasePath "/config.yaml") . | sha256sum }}
prometheus.io/scrape: 'true'
prometheus.io/path: /spectator/metrics
prometheus.io/port: '8084'
{{- end }}

{{- define "fairlead.claim" -}}
accessModes: [ReadWriteOnce]
{{- with .Values.storage.className }}
storageClassName: {{ . }}
{{- end }}
resources: { requests: { storage: {{ .Values.storage.size }} } }
{{- end }}
