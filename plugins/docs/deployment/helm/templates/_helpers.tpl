{{- define "spoor.labels" -}}
app.kubernetes.io/name: spoor
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "spoor.selector" -}}
app.kubernetes.io/name: spoor
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "spoor.image" -}}
{{ required "Set image.repository to the image of a release, such as ghcr.io/OWNER/spoor" .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "spoor.env" -}}
{{- range $name, $value := .Values.settings }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- if .Values.grpc.enabled }}
- { name: OTLP_GRPC_PORT, value: {{ .Values.grpc.port | quote }} }
{{- end }}
{{- end }}

{{- define "spoor.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "spoor.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}
