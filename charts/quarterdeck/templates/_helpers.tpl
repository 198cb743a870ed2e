{{- /* The image, by digest where one is given. */ -}}
{{- define "quarterdeck.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The Redis that hub and clusters operator share. */ -}}
{{- define "quarterdeck.redisUrl" -}}
{{- if .Values.services.hub.redisUrl -}}
{{ .Values.services.hub.redisUrl }}
{{- else if .Values.redis.enabled -}}
redis://quarterdeck-redis.{{ .Release.Namespace }}.svc:6379/0
{{- else if .Values.services.hub.enabled -}}
{{- fail "services.hub.enabled needs services.hub.redisUrl, services.hub.existingSecret or redis.enabled=true" -}}
{{- end -}}
{{- end -}}

{{- define "quarterdeck.victoriaMetricsUrl" -}}
{{- if .Values.services.hub.victoriaMetricsUrl -}}
{{ .Values.services.hub.victoriaMetricsUrl }}
{{- else if .Values.victoriametrics.enabled -}}
http://quarterdeck-victoriametrics.{{ .Release.Namespace }}.svc:8428
{{- end -}}
{{- end -}}
