{{/* The name of everything in the release; "mooring" for a release of that name. */}}
{{- define "mooring.name" -}}
{{- if contains "mooring" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-mooring" (.Release.Name | trunc 32 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{/* What the operator's pod is found by. The operator names the same labels in the policies that it makes. */}}
{{- define "mooring.selector" -}}
app.kubernetes.io/name: mooring
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "mooring.labels" -}}
{{ include "mooring.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* An image from its name: (list $ "name"). A tag or digest of its own stays. */}}
{{- define "mooring.image" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $root.Values.image.registry }}{{ $name -}}
{{- if not (regexMatch "(@sha256:[0-9a-f]+|:[A-Za-z0-9_][A-Za-z0-9_.-]*)$" $name) -}}
:{{ $root.Chart.AppVersion }}
{{- end -}}
{{- end -}}
