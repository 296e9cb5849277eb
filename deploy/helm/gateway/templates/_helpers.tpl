{{- define "gateway.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "gateway.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gateway.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest }}{{ $image.repository }}@{{ $image.digest }}
{{- else }}{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "gateway.serviceAccount" -}}
{{ .Values.serviceAccount.name | default .Release.Name }}
{{- end }}

{{- /* Lease and field manager have the name of the controller. */ -}}
{{- define "gateway.lease" -}}
{{ .Values.controllerName | lower | replace "/" "-" }}
{{- end }}

{{- define "gateway.statsPort" -}}
{{ .Values.config.statsAddr | splitList ":" | last }}
{{- end }}

{{- /* Port of the controller for proxies. */ -}}
{{- define "gateway.proxiesPort" -}}15030{{- end }}

{{- /* Rights to read what a configuration consists of. */ -}}
{{- define "gateway.readRules" -}}
- apiGroups: [gateway.networking.k8s.io]
  resources:
    - backendtlspolicies
    - gateways
    - grpcroutes
    - httproutes
    - listenersets
    - referencegrants
  verbs: [get, list, watch]
- apiGroups: [{{ .Values.config.policyApiGroup | default "policy.gateway.internal" }}]
  resources: [gatewaybackends, gatewaykeys, gatewaypolicies, gatewayteams, gatewayusers]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [configmaps, secrets, services]
  verbs: [get, list, watch]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [get, list, watch]
{{- end }}

{{- /* Rights to read what belongs to no namespace. */ -}}
{{- define "gateway.readClusterRules" -}}
- apiGroups: [gateway.networking.k8s.io]
  resources: [gatewayclasses]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get, list, watch]
{{- end }}

{{- /* Rights of the process that leads. */ -}}
{{- define "gateway.writeRules" -}}
- apiGroups: [gateway.networking.k8s.io]
  resources:
    - backendtlspolicies/status
    - gateways/status
    - grpcroutes/status
    - httproutes/status
    - listenersets/status
  verbs: [patch, update]
- apiGroups: [{{ .Values.config.policyApiGroup | default "policy.gateway.internal" }}]
  resources:
    - gatewaykeys/status
    - gatewaypolicies/status
    - gatewayteams/status
    - gatewayusers/status
  verbs: [patch, update]
- apiGroups: ["", events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end }}

{{- /* Namespaces to read, with that of the release; empty for all. */ -}}
{{- define "gateway.namespaces" -}}
{{- if .Values.watchNamespaces }}{{ append .Values.watchNamespaces .Release.Namespace | uniq | sortAlpha | join "," }}{{ end }}
{{- end }}

{{- /* The "config" section, with the store that the chart runs. */ -}}
{{- define "gateway.config" -}}
{{- $config := deepCopy .Values.config }}
{{- if .Values.valkey.enabled }}
{{- $_ := set $config "kv" (dict "redis" (printf "redis://%s-valkey.%s.svc:6379" .Release.Name .Release.Namespace)) }}
{{- end }}
{{- toYaml $config }}
{{- end }}
